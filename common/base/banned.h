/** Included before everything by the Makefile: functions whose misuse is too easy do not compile. */
#ifndef ANTEROOM_BASE_BANNED_H
#define ANTEROOM_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gmtime localtime

#endif
