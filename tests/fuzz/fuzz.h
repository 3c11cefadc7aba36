/**
 * Fuzzing: a harness feeds bytes to one reader, and aborts if the reader does wrong.
 *
 *     bool fuzz_one(const uint8_t *data, size_t size)             // fuzz_npy.c
 *     {
 *         hs_chains *chains;
 *         hs_message message;
 *         const char *path = fuzz_write("draws.npy", data, size);
 *         const hs_status status = hs_chains_load(&chains, path, HS_CHAIN_FIRST, &message);
 *         if (status != HS_OK)
 *             return fuzz_refused(message.text);
 *         ...                                                     // save, load again, compare
 *         hs_chains_free(chains);
 *         return true;
 *     }
 *
 * Built by the preset "fuzz", the program is a fuzzer (libFuzzer). Built otherwise, it replays the files of the folders
 * that it is given (replay.c). Both check after each input that all memory of the library was given back, and that no
 * unfinished file is left. Blocks above FUZZ_LARGEST are refused, so that a large number in a file costs no time.
 */
#ifndef HASTINGS_TESTS_FUZZ_FUZZ_H
#define HASTINGS_TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUZZ_LARGEST = 64 << 20, FUZZ_PATH = 512 };

/* The harness. True if the input was accepted, which seeds named good-... must be. */
bool fuzz_one(const uint8_t *data, size_t size);

/* The entry points of libFuzzer, which replay.c calls too. */
/* NOLINTBEGIN(readability-identifier-naming) */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
/* NOLINTEND(readability-identifier-naming) */

/* Whether the last input was accepted. */
extern bool fuzz_accepted;

#define fuzz_check(condition) ((condition) ? (void)0 : fuzz_fail(__FILE__, __LINE__, #condition))

_Noreturn void fuzz_fail(const char *file, int line, const char *condition);

/* Checks that there is a sentence about a refusal; false. */
bool fuzz_refused(const char *sentence);

/* The path of a file in the folder of this process, which is emptied after each input. It is valid until 15 more were
 * asked for. */
const char *fuzz_path(const char *name);

/* Writes such a file; its path. */
const char *fuzz_write(const char *name, const void *bytes, size_t size);

/* Whether two files hold the same bytes. */
bool fuzz_same_files(const char *a, const char *b);

/* The input as a text, which hs_free() frees. Bytes after a '\0' are lost. */
char *fuzz_text(const uint8_t *data, size_t size);

/* Whether numbers are the same; NaNs are, whatever their bits. */
bool fuzz_same_numbers(const double *a, const double *b, size_t n);

/* Whether a text asks for little: no number in it is above 16, and it names no file. Harnesses leave others out, since
 * what they ask for takes long by right. */
bool fuzz_affordable(const char *text);

/* Takes an integer of two bytes, little-endian, from the front of the input; 0 at its end. */
unsigned fuzz_take_u16(const uint8_t **data, size_t *size);

#endif
