#include "common/base/check.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void check_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "level=fatal event=check-failed where=%s:%d condition=\"%s\"\n", file, line, condition);
    abort();
}
