/**
 * The version of the library, and the marks that its public functions carry.
 *
 *     printf("Hastings %s\n", hs_version());
 *
 * The text is the library's own. Any thread may call.
 */
#ifndef HASTINGS_TENSOR_API_H
#define HASTINGS_TENSOR_API_H

#if defined(__GNUC__)
#define HS_API                 __attribute__((visibility("default")))
#define HS_MUST_CHECK          __attribute__((warn_unused_result))
#define HS_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HS_API                 /**< marks a public function: others are hidden, and begin with hs__ */
#define HS_MUST_CHECK          /**< marks a status that the caller must look at: to ignore it is a bug */
#define HS_PRINTF(text, first) /**< marks printf's format, argument `text`; values from `first` */
#endif

HS_API const char *hs_version(void); /**< the version of the library that runs, such as "0.2.0" */

#endif
