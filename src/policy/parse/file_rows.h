/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The rows of the tables [egress] and [audit]: a part of the array in keys.c, which includes it. */

/* clang-format off */
    {TC_IN(EGRESS), "upstream", tc_set_upstream, NONE, .type = "URL",
     .text = "The site's proxy with its port: http:// (it must allow CONNECT to every granted "
             "port) or socks5://. Connections to public addresses go through it; those to this "
             "host and to private addresses that the policy names are direct.",
     .example = "upstream = \"socks5://10.0.0.8:1080\""},
    {TC_IN(EGRESS), "credentials", tc_set_credentials, NONE, .type = "string",
     .text = "The source of USER:PASSWORD for the upstream, read at each call like a secret: "
             "\"env:NAME\" or \"file:PATH\". Only the egress proxy has it, and sends it to the "
             "upstream (HTTP Basic, or SOCKS5 authentication).",
     .example = "upstream = \"http://proxy.example.com:3128\"\ncredentials = "
                "\"env:PROXY_CREDENTIALS\""},
    {TC_IN(EGRESS), "names", tc_set_index,
     .offset = offsetof(struct toolcage_policy, upstream_names), NONE, .choices = tc_values_names,
     .type = "word", .fallback = "here",
     .text = "Which side resolves names. here: this host; each address is checked, and the "
             "upstream connects to exactly that address. upstream: it receives the name, and the "
             "address is not checked, so every host must be named, without a pattern.",
     .example = "upstream = \"http://proxy.example.com:3128\"\nnames = \"upstream\""},

    {TC_IN(AUDIT), "arguments", tc_set_index, AUDIT(arguments), NONE, .choices = tc_values_recorded,
     .type = "word", .fallback = "values",
     .text = "How the arguments and the command are recorded. digests: only their SHA-256 digests, "
             "from which a short value can be guessed. Input is always a digest; values of secrets "
             "and of environment variables are never recorded.",
     .example = "arguments = \"digests\""},
    {TC_IN(AUDIT), "sync", tc_set_index, AUDIT(sync), NONE, .choices = tc_values_sync,
     .type = "word", .fallback = "interval",
     .text = "When records are flushed to the disk. always: each one, before the call continues. "
             "interval: at most once a second, by a program that runs longer than that. none, and "
             "for shorter programs: when the kernel does it, within about half a minute. Only a "
             "crash of the machine can lose what was not flushed.",
     .example = "sync = \"always\""},
    {TC_IN(AUDIT), "keep", tc_set_value, AUDIT(keep), NONE,
     RANGE(SIZE, (int64_t)64 << 20, MAX_BYTES), .type = "size", .fallback = "everything is kept",
     .text = "The size of the log. When it is larger, its oldest files are removed, which the log "
             "records.",
     .example = "keep = \"1GiB\""},
    {TC_IN(AUDIT), "record", tc_set_index, AUDIT(record), NONE, .choices = tc_values_record,
     .type = "word", .fallback = "calls",
     .text = "What is kept of a call. inputs: also what it needs to run again, for `toolcage audit "
             "replay`: the files of its workspace that it may see, its input, its output, and its HTTP "
             "requests with their responses where the egress proxy sees them, each content once, "
             "in the state directory. Values of secrets and of environment variables are left out, "
             "unless a tool or a server writes them in a form that is not masked.",
     .example = "record = \"inputs\""},
    {TC_IN(AUDIT), "keep_inputs", tc_set_value, AUDIT(keep_inputs), NONE,
     RANGE(SIZE, (int64_t)1 << 20, MAX_BYTES), .type = "size", .fallback = "1GiB",
     .text =
         "With record = \"inputs\": the size of all that is kept. When it is reached, calls are "
         "recorded without their inputs, until `toolcage audit prune` removes old ones.",
     .example = "record = \"inputs\"\nkeep_inputs = \"10GiB\""},
    {TC_IN(AUDIT), "anchor", tc_set_anchor, NONE, .type = "path",
     .text =
         "A file to which the hash of each record is appended, too: on another disk or machine, "
         "or one that can only be appended to. Without it verification cannot "
         "find that the end of the log was cut off. No tool may be able to write it.",
     .example = "anchor = \"/mnt/log/toolcage.anchor\""},
