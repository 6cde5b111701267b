// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors
//
// Pins the official TOML test suite; go.sum has its hash. tools/clients fetches it.
module toolcage/tests/toml

go 1.19

require github.com/toml-lang/toml-test/v2 v2.2.0
