/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * report_text.h - text that others wrote, made fit for terminals and files. One thread; nothing fails.
 */
#ifndef REPORT_TEXT_H
#define REPORT_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Puts `?` in the place of each byte that is no UTF-8. */
void text_mend_utf8(char *text, size_t size);

/* The text with characters that a terminal would obey, or that turn the direction of the text, as \x1b or \u202e. */
const char *text_clean(const char *text);

/* As text_clean(), and fit for XML's text and attributes. */
const char *text_xml(const char *text);

/* The text with a # for each word that begins with a digit, or is an address: equal for sentences that differ in figures alone. */
const char *text_shape(const char *text);

/* 1234567 as 1,234,567. */
const char *text_number(double number);

/* Bytes as 1.2 MiB. */
const char *text_bytes(double bytes);

#endif
