// GB/s that one thread and two read from memory, a gibibyte in registers of 64 bytes; the best of 8 rounds.
//
//     cc -O2 -mavx512f bandwidth.c -o bandwidth -lpthread && ./bandwidth
#include <immintrin.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BYTES (1L << 30)
static char *memory;
static int threads;
static volatile long seen;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec * 1e-9;
}

static void *read_part(void *index) {
    char *at = memory + BYTES / threads * (long)index, *end = at + BYTES / threads;
    __m512i sums[4] = {0};
    for (; at < end; at += 256)
        for (int i = 0; i < 4; i++)
            sums[i] = _mm512_add_epi32(sums[i], _mm512_load_si512(at + 64 * i));
    for (int i = 0; i < 4; i++)
        seen += _mm512_reduce_add_epi32(sums[i]);
    return 0;
}

int main(void) {
    memory = mmap(0, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, BYTES, MADV_HUGEPAGE);
    memset(memory, 1, BYTES);
    double rates[2];
    for (threads = 1; threads <= 2; threads++) {
        double best = 1e9;
        for (int round = 0; round < 8; round++) {
            pthread_t ids[2];
            double started = now();
            for (long i = 0; i < threads; i++)
                pthread_create(&ids[i], 0, read_part, (void *)i);
            for (int i = 0; i < threads; i++)
                pthread_join(ids[i], 0);
            double time = now() - started;
            best = time < best ? time : best;
        }
        rates[threads - 1] = BYTES / best / 1e9;
    }
    printf("[%.1f, %.1f]\n", rates[0], rates[1]);
}
