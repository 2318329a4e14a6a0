#include "publisher/pulse.h"
#include "tests/support/unit.h"

#define GW TEXT("gw.abcdefgh")

/* One look; BEAT < 0: not registered. */
static const char *look(struct pulses *pulses, uint64_t now_ms, int64_t beat, bool served)
{
    pulses_begin(pulses, now_ms);
    if (beat >= 0)
        pulses_seen(pulses, GW, beat);
    if (served)
        pulses_served(pulses, GW);
    pulses_end(pulses);
    struct pulse *pulse = pulse_find(pulses, GW);
    return pulse ? pulse_dead(pulses, pulse) : "forgotten";
}

static void a_heart_that_stands_still_for_five_of_our_seconds_is_dead(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    for (uint64_t now = 0; now < 5000; now += 1000)
        assert_null(look(&pulses, now, 7, true));
    assert_string_equal(look(&pulses, 5000, 7, true), "silent");
    assert_null(look(&pulses, 6000, 8, true)); /* it beats again */
    pulses_finish(&pulses);
}

static void one_that_no_session_of_ours_lists_is_given_more_time(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    for (uint64_t now = 0; now < 10000; now += 1000)
        assert_null(look(&pulses, now, 7, false));
    assert_string_equal(look(&pulses, 10000, 7, false), "silent");
    pulses_finish(&pulses);
}

static void our_own_freeze_counts_as_one_step(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    assert_null(look(&pulses, 0, 7, true));
    assert_null(look(&pulses, 3600000, 7, true));
    assert_null(look(&pulses, 3600001, 7, true));
    assert_int_equal(pulse_find(&pulses, GW)->still_ms, PULSE_STEP_MS + 1);
    pulses_finish(&pulses);
}

static void a_listed_one_that_is_not_registered_dies_after_three_seconds(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    for (uint64_t now = 0; now < 3000; now += 1000)
        assert_null(look(&pulses, now, -1, true));
    assert_string_equal(look(&pulses, 3000, -1, true), "absent");
    assert_string_equal(look(&pulses, 4000, -1, false), "forgotten");
    pulses_finish(&pulses);
}

static void another_boot_of_its_id_replaces_it_at_once(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    pulses_begin(&pulses, 0);
    pulses_seen(&pulses, TEXT("gw.ijklmnop"), 1);
    pulses_served(&pulses, GW);
    pulses_served(&pulses, TEXT("gw2.abcdefgh"));
    assert_int_equal(pulses_end(&pulses), 1);
    assert_string_equal(pulse_dead(&pulses, pulse_find(&pulses, GW)), "replaced");
    assert_null(pulse_dead(&pulses, pulse_find(&pulses, TEXT("gw2.abcdefgh"))));
    pulses_finish(&pulses);
}

static void what_is_no_servers_name_is_not_judged(void **state)
{
    (void)state;
    static char longest[SERVER_NAME_SIZE + 10];
    struct pulses pulses;
    memset(longest, 'x', sizeof longest - 1);
    pulses_init(&pulses);
    pulses_begin(&pulses, 0);
    pulses_seen(&pulses, TEXT(""), 1);
    pulses_seen(&pulses, TEXT("a b.x"), 1);
    pulses_seen(&pulses, text_of(longest), 1);
    pulses_seen(&pulses, (struct text){NULL, 0}, 1);
    assert_int_equal(pulses_end(&pulses), 0);
    pulses_finish(&pulses);
}

static void one_being_buried_is_kept_until_that_is_done(void **state)
{
    (void)state;
    struct pulses pulses;
    pulses_init(&pulses);
    assert_null(look(&pulses, 0, 7, true));
    pulse_find(&pulses, GW)->busy = true;
    assert_null(look(&pulses, 1000, -1, false));
    pulse_find(&pulses, GW)->busy = false;
    assert_string_equal(look(&pulses, 2000, -1, false), "forgotten");
    pulses_finish(&pulses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_heart_that_stands_still_for_five_of_our_seconds_is_dead),
        cmocka_unit_test(one_that_no_session_of_ours_lists_is_given_more_time),
        cmocka_unit_test(our_own_freeze_counts_as_one_step),
        cmocka_unit_test(a_listed_one_that_is_not_registered_dies_after_three_seconds),
        cmocka_unit_test(another_boot_of_its_id_replaces_it_at_once),
        cmocka_unit_test(what_is_no_servers_name_is_not_judged),
        cmocka_unit_test(one_being_buried_is_kept_until_that_is_done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
