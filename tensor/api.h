/**
 * What the library exports, and its version.
 *
 *     printf("built against %s, runs with %s\n", HS_VERSION, hs_version());
 */
#ifndef HASTINGS_TENSOR_API_H
#define HASTINGS_TENSOR_API_H

/* A function without HS_API is private: the shared library hides it, and its name begins with hs__. */
#if defined(__GNUC__)
#define HS_API                 __attribute__((visibility("default")))
#define HS_MUST_CHECK          __attribute__((warn_unused_result)) /* an ignored status is a bug */
#define HS_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HS_API
#define HS_MUST_CHECK
#define HS_PRINTF(text, first)
#endif

/** The version of the library that runs, such as "0.2.0". */
HS_API const char *hs_version(void);

#endif
