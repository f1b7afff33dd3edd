"""``mlxp serve`` as a process: what users start answers the official client."""

import signal
from concurrent.futures import ThreadPoolExecutor


def test_the_command_serves_many_clients_at_once(process, model, official, chat):
    running = process(model)
    client = official(running.url)

    def ask(number):
        messages = [{"role": "user", "content": f"Hello {number}"}]
        return chat(
            client, stream=number % 2 == 0, messages=messages, temperature=number % 3, seed=number
        ).told()

    alone = [ask(number) for number in range(16)]
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(ask, range(16))) == alone
    assert [listed.id for listed in client.models.list()] == [model.name]
    running.process.signal(signal.SIGTERM)
    assert running.process.wait() == 0
