/** What every unit test includes. */
#ifndef ANTEROOM_TESTS_UNIT_H
#define ANTEROOM_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

#endif
