"""What tests of network files share."""

import gzip


def edges_of(network):
    i, j = network.adjacency.nonzero()
    return {(network.names[a], network.names[b]) for a, b in zip(i, j, strict=True) if a < b}


def write(tmp_path, name, text):
    path = tmp_path / name
    content = text if isinstance(text, bytes) else text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path
