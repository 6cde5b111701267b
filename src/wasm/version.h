/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which engine it is: what is compared, looked for and installed. */
#ifndef TC_WASM_VERSION_H
#define TC_WASM_VERSION_H

#define TC_WASM_VERSION "50.0.1"
#define TC_WASM_LIBRARY "libwasmtime-" TC_WASM_VERSION ".so"
/* And what compiled code is bound to besides: counts on when engine.c sets another thing. */
#define TC_WASM_SETTINGS "wasmtime " TC_WASM_VERSION " settings 1"
/* Of that file, as its makers publish it. */
#if defined(__x86_64__)
#define TC_WASM_DIGEST "sha256:3127ca42fe7cdd3f0a43a358e79177dcfedd46c1746329826403b9d854de6178"
#else
#define TC_WASM_DIGEST "" /* not chosen yet */
#endif

#endif
