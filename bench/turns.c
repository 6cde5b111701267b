/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "turns.h"

#include <stdio.h>
#include <stdlib.h>

enum { TURNS_MAX = 16, PAUSE_MS = 100, LABEL = 62 };

/* By lot, because each leaves the kernel something to clear away for the next. */
static void draw_order(size_t order[TURNS_MAX], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t j = (size_t)rand() % (i + 1);
        order[i] = order[j];
        order[j] = i;
    }
}

static void take_turn(struct turn *turn, unsigned pause, int round)
{
    double us;

    if (!turn->once)
        return;
    if (pause)
        pause_ms(pause);
    us = turn->once(turn);
    if (round >= 0)
        samples_add(pause ? &turn->paced : &turn->dense, us);
}

static void take_rounds(struct turn *const *turns, size_t count, int rounds, unsigned pause)
{
    size_t order[TURNS_MAX] = {0};

    if (count > TURNS_MAX)
        die("more than %d contenders", TURNS_MAX);
    for (int round = -2; round < rounds; round++) {
        draw_order(order, count);
        for (size_t i = 0; i < count; i++)
            take_turn(turns[order[i]], pause, round);
    }
}

void turns_take(struct turn *const *turns, size_t count, int rounds, int paced_rounds)
{
    take_rounds(turns, count, rounds, 0);
    take_rounds(turns, count, paced_rounds, PAUSE_MS);
}

static double ratio(struct samples *s, struct samples *base, double part)
{
    double below = samples_at(base, part);

    return below > 0 ? samples_at(s, part) / below : 0;
}

void turns_print_head(void)
{
    printf("%-34s %26s   %26s\n", "", "back to back", "100 ms before each");
    printf("%-34s %8s %8s %7s   %8s %8s %7s\n", "microseconds", "median", "p99", "ratio", "median",
           "p99", "ratio");
}

void turns_print(struct turn *const *turns, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct samples *dense = &turns[i]->dense, *paced = &turns[i]->paced;

        if (turns[i]->once)
            printf("%-34s %8.0f %8.0f %7.1f   %8.0f %8.0f %7.1f\n", turns[i]->name,
                   samples_at(dense, 0.5), samples_at(dense, 0.99),
                   ratio(dense, &turns[0]->dense, 0.5), samples_at(paced, 0.5),
                   samples_at(paced, 0.99), ratio(paced, &turns[0]->paced, 0.5));
    }
}

void turns_compare_head(void)
{
    printf("\n%-*s %31s   %31s\n", LABEL, "", "back to back", "100 ms before each");
    printf("%-*s %15s %15s   %15s %15s\n", LABEL, "ratio, and difference in microseconds", "median",
           "p99", "median", "p99");
}

static void print_over(struct samples *s, struct samples *base, double part)
{
    printf(" %6.2f %+8.0f", ratio(s, base, part), samples_at(s, part) - samples_at(base, part));
}

void turns_compare(struct turn *turn, struct turn *base)
{
    char label[128];

    if (!turn->once || !base->once) {
        printf("no ratio: %s over %s: %s was not measured\n", turn->name, base->name,
               turn->once ? base->name : turn->name);
        return;
    }
    snprintf(label, sizeof(label), "%s over %s", turn->name, base->name);
    printf("%-*s", LABEL, label);
    print_over(&turn->dense, &base->dense, 0.5);
    print_over(&turn->dense, &base->dense, 0.99);
    printf("  ");
    print_over(&turn->paced, &base->paced, 0.5);
    print_over(&turn->paced, &base->paced, 0.99);
    putchar('\n');
}
