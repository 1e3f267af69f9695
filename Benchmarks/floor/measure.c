// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: swift-oss-multipart authors

// Runs a program and writes what it took as one line of JSON into a file: wall and CPU time, peak memory, bytes written.
//
// Peak memory is the kernel's own mark of the process (the same as VmHWM), taken at its end. It is not that of a large
// parent: a process begins with the mark of the one that it was forked from, and this one is as small as can be.
//
//   measure FILE PROGRAM ARGUMENT...

#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    if(count < 3) return 2;
    double start = now();
    pid_t child = fork();
    if(child < 0) return 2;
    if(child == 0) {
        execvp(arguments[2], arguments + 2);
        perror(arguments[2]);
        _exit(127);
    }
    // It is looked at while it is dead and not yet buried: its counters are final then.
    siginfo_t information;
    waitid(P_PID, (id_t)child, &information, WEXITED | WNOWAIT);
    double wall = now() - start;
    long long written = -1, dirtied = -1;
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/%d/io", (int)child);
    FILE *io = fopen(path, "r");
    while(io && fgets(line, sizeof line, io)) {
        sscanf(line, "wchar: %lld", &written);
        sscanf(line, "write_bytes: %lld", &dirtied);
    }
    if(io) fclose(io);
    struct rusage usage;
    int status;
    wait4(child, &status, 0, &usage);
    FILE *result = fopen(arguments[1], "w");
    if(!result) return 2;
    fprintf(
        result,
        "{\"status\": %d, \"wall\": %.6f, \"user\": %ld.%06ld, \"sys\": %ld.%06ld, \"peakKiB\": %ld, \"wchar\": %lld, "
        "\"writeBytes\": %lld}\n",
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), wall, usage.ru_utime.tv_sec,
        usage.ru_utime.tv_usec, usage.ru_stime.tv_sec, usage.ru_stime.tv_usec, usage.ru_maxrss, written, dirtied);
    fclose(result);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
