// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Pins wazero; go.sum has its hash. tools/clients bench fetches it.
module toolcage/bench/wazero

go 1.25.0

require github.com/tetratelabs/wazero v1.12.0

require golang.org/x/sys v0.44.0 // indirect
