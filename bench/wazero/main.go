// SPDX-License-Identifier: Apache-2.0
// Copyright The toolcage authors

// Wazero: an instance of the module and its start, in one process, without a cage. Compiled once.
//
// usage: wazero MODULE ROUNDS
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"sort"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"
)

const warm = 20

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, each := range info.Deps {
		if each.Path == "github.com/tetratelabs/wazero" {
			return each.Version
		}
	}
	return "?"
}

func measure(path string, rounds int) ([]time.Duration, error) {
	ctx := context.Background()
	engine := wazero.NewRuntime(ctx)
	defer engine.Close(ctx)
	wasi_snapshot_preview1.MustInstantiate(ctx, engine)
	bytes, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	compiled, err := engine.CompileModule(ctx, bytes)
	if err != nil {
		return nil, err
	}
	config := wazero.NewModuleConfig().WithName("").WithArgs("noop")
	times := make([]time.Duration, 0, rounds)
	for round := -warm; round < rounds; round++ {
		start := time.Now()
		instance, err := engine.InstantiateModule(ctx, compiled, config)
		var exit *sys.ExitError
		if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 0) {
			return nil, err
		}
		if instance != nil {
			instance.Close(ctx)
		}
		if round >= 0 {
			times = append(times, time.Since(start))
		}
	}
	return times, nil
}

func main() {
	rounds, _ := strconv.Atoi(os.Args[2])
	times, err := measure(os.Args[1], rounds)
	if err != nil || len(times) == 0 {
		fmt.Fprintln(os.Stderr, "wazero:", err)
		os.Exit(1)
	}
	sort.Slice(times, func(a, b int) bool { return times[a] < times[b] })
	at := func(part float64) int64 { return times[min(len(times)-1, int(float64(len(times))*part))].Microseconds() }
	fmt.Printf("%-45s%10d%9d\n", "wazero "+version()+" in one process", at(0.5), at(0.99))
}
