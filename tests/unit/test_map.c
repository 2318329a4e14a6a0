#include "common/base/map.h"
#include "tests/support/unit.h"

#include <stdio.h>
#include <stdlib.h>

struct item {
    struct map_node node;
    char key[16];
};

static struct text item_key(const struct map_node *node)
{
    return text_of(CONTAINER_OF(node, const struct item, node)->key);
}

static void many_elements_are_found_walked_and_removed(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct map map;
    struct item *items = calloc(COUNT, sizeof *items);
    map_init(&map, item_key);
    assert_null(map_find(&map, TEXT("none")));
    for (int i = 0; i < COUNT; i++) {
        snprintf(items[i].key, sizeof items[i].key, "k%d", i);
        assert_int_equal(map_insert(&map, &items[i].node), OK);
    }
    assert_int_equal(map.len, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_ptr_equal(map_find(&map, text_of(items[i].key)), &items[i].node);
    size_t walked = 0;
    MAP_EACH(&map, node, next, cursor) /* removing the one in hand is allowed */
    {
        if (walked++ % 2 == 0)
            map_remove(&map, node);
    }
    assert_int_equal(walked, COUNT);
    assert_int_equal(map.len, COUNT / 2);
    map_finish(&map);
    free(items);
}

static void hashes_are_the_same_for_equal_keys_only(void **state)
{
    (void)state;
    assert_true(map_hash(TEXT("abcdefgh")) == map_hash(TEXT("abcdefgh")));
    assert_true(map_hash(TEXT("abcdefgh")) != map_hash(TEXT("abcdefgi")));
    assert_true(map_hash(TEXT("")) != map_hash((struct text){"\0", 1}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_elements_are_found_walked_and_removed),
        cmocka_unit_test(hashes_are_the_same_for_equal_keys_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
