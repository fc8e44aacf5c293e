/* SPDX-License-Identifier: BSD-2-Clause */
/* forward.h - functions that call those of the same name in a library which is loaded when the program runs. The file that includes
 * it has a find_call(), which finds one by its name. */
#ifndef TESTS_RULES_VERBS_FORWARD_H
#define TESTS_RULES_VERBS_FORWARD_H

#define FORWARD(result, name, parameters, ...)                        \
	__attribute__((visibility("hidden"))) result name parameters; \
	result name parameters                                        \
	{                                                             \
		union {                                               \
			void *at;                                     \
			result(*call) parameters;                     \
		} found = { find_call(#name) };                       \
                                                                      \
		return found.call(__VA_ARGS__);                       \
	}

#define FORWARD_VOID(name, parameters, ...)                         \
	__attribute__((visibility("hidden"))) void name parameters; \
	void name parameters                                        \
	{                                                           \
		union {                                             \
			void *at;                                   \
			void(*call) parameters;                     \
		} found = { find_call(#name) };                     \
                                                                    \
		found.call(__VA_ARGS__);                            \
	}

#endif
