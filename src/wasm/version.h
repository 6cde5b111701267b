/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The versions of the engines: compared, searched for and installed. */
#ifndef TC_WASM_VERSION_H
#define TC_WASM_VERSION_H

#define TC_WASM_VERSION "50.0.1"
#define TC_WASM_LIBRARY "libwasmtime-" TC_WASM_VERSION ".so"
/* Compiled code also depends on the settings: count on when engine.c changes one. */
#define TC_WASM_SETTINGS "wasmtime " TC_WASM_VERSION " settings 2"
/* Settings of deterministic calls. */
#define TC_WASM_FIXED_SETTINGS TC_WASM_SETTINGS " deterministic"
/* Published digest of that library. */
#if defined(__x86_64__)
#define TC_WASM_DIGEST "sha256:3127ca42fe7cdd3f0a43a358e79177dcfedd46c1746329826403b9d854de6178"
#else
#define TC_WASM_DIGEST "" /* none published here yet */
#endif

/* The second engine. It is in an image of the store, together with the C library that it needs: the
 * directory of its libraries, and its dynamic loader. */
#define TC_WASM_EDGE_VERSION "0.14.1"
#define TC_WASM_EDGE_IMAGE "wasmedge"
#define TC_WASM_EDGE_BUILD \
    "toolcage image build " TC_WASM_EDGE_IMAGE " --minimal --suite trixie --package libwasmedge0"
#define TC_WASM_EDGE_LIBRARY "libwasmedge.so.0"
#if defined(__aarch64__)
#define TC_WASM_EDGE_PLACE "usr/lib/aarch64-linux-gnu"
#define TC_WASM_EDGE_LOADER "ld-linux-aarch64.so.1"
#else
#define TC_WASM_EDGE_PLACE "usr/lib/x86_64-linux-gnu"
#define TC_WASM_EDGE_LOADER "ld-linux-x86-64.so.2"
#endif

#endif
