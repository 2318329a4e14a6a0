"""The main ways once more with a node of a Redis Cluster: a script that touched a key of another slot, or one that it did not name, would be refused."""

import pytest
import redis
from test_grace import test_who_leaves_at_one_gateway_is_told_so_at_the_other, two  # noqa: F401
from test_lobby import test_a_lottery_is_what_its_seed_says  # noqa: F401
from test_loss import quick, test_an_empty_redis_gets_every_connection_back_with_its_number  # noqa: F401
from test_real_input import free_port
from test_site import test_a_released_seat_is_taken_at_once, test_of_fifty_callers_at_two_gateways_one_wins  # noqa: F401
from test_stream import test_a_visitor_sees_exact_positions_and_then_gets_a_token, test_join_and_status_without_a_stream  # noqa: F401

import support


@pytest.fixture
def redis_server(tmp_path):
    node = support.RedisServer(tmp_path, "--port", str(free_port()), "--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    node.client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
    support.wait_until(lambda: "cluster_state:ok" in node.client.execute_command("CLUSTER", "INFO"), what="a cluster that answers")
    yield node
    node.close()


def test_this_node_refuses_a_key_of_another_slot(client):
    with pytest.raises(redis.ResponseError, match="slot"):
        client.eval("#!lua\nredis.call('GET', KEYS[1]) redis.call('GET', 'b')", 1, "a")
