"""A genome scan as PLINK files: haplotype mosaics of real genotypes, and a trait with 20 causal variants.

    python -m benchmarks.genotypes FOLDER [--variants 1000000] [--individuals 2000] [--seed 0]

Each individual is a mosaic of segments of the 574 real ones, so nearby variants are as correlated as real ones. Needs
the data (the folder VARIEGATE_DATA).
"""

import argparse
from pathlib import Path

import numpy as np
from experiments.data import load_finemapping

CAUSAL, EXPLAINED = 20, 0.5  # variants, and the share of the trait's variance that they explain
PIECE = 250  # variants after which a mosaic changes to another real individual
REGIONS = 22  # chromosomes over which copies of the real region are spread
GAP = 1_000_000  # base pairs between two copies
MAGIC, CODES = (
    b"\x6c\x1b\x01",
    np.array([0b11, 0b10, 0b00], dtype=np.uint8),
)  # of 0, 1 and 2 copies of the first allele


def real_genotypes() -> tuple[np.ndarray, np.ndarray]:
    """Counts (574, 1001) of the rarer allele, and positions (1001,)."""
    data = load_finemapping()
    counts = np.rint(data.X + 2 * data.about_features["allele_freq"].to_numpy()).astype(np.int8)
    return np.clip(counts, 0, 2), data.about_features["position"].to_numpy()


def mosaic(real: np.ndarray, n: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Draw n individuals (n, width) over the first columns of the region, as mosaics of real ones."""
    piece = (np.arange(width) + rng.integers(PIECE)) // PIECE
    source = rng.integers(len(real), size=(n, piece[-1] + 1))
    return real[source[:, piece], np.arange(width)]


def packed(counts: np.ndarray) -> bytes:
    """Counts (n, w) as bytes of a .bed file, variant by variant, four individuals per byte."""
    n, w = counts.shape
    codes = np.zeros((w, 4 * -(-n // 4)), dtype=np.uint8)
    codes[:, :n] = CODES[counts.T]
    quads = codes.reshape(w, -1, 4)
    return (quads[..., 0] | quads[..., 1] << 2 | quads[..., 2] << 4 | quads[..., 3] << 6).tobytes()


def write(folder: Path, n: int, m: int, seed: int = 0) -> np.ndarray:
    """Write scan.bed, .bim, .fam and trait.tsv; return the causal variants (CAUSAL,)."""
    rng = np.random.default_rng([20, seed])
    real, position = real_genotypes()
    L = real.shape[1]
    regions = -(-m // L)
    edges = np.linspace(0, m, CAUSAL + 1).astype(int)
    causal = rng.integers(edges[:-1], edges[1:])
    signal = np.zeros(n)
    effects = rng.choice([-1.0, 1.0], CAUSAL) * rng.uniform(0.5, 1.0, CAUSAL)
    with open(folder / "scan.bed", "wb") as bed, open(folder / "scan.bim", "w", encoding="ascii") as bim:
        bed.write(MAGIC)
        for r in range(regions):
            counts = mosaic(real, n, min(L, m - r * L), rng)
            bed.write(packed(counts))
            chromosome, place = r * REGIONS // regions + 1, (position + r * GAP).tolist()
            bim.writelines(f"{chromosome}\tv{r * L + j}\t0\t{place[j]}\tA\tG\n" for j in range(counts.shape[1]))
            for j, effect in zip(causal, effects, strict=True):
                if r * L <= j < r * L + counts.shape[1]:
                    column = counts[:, j - r * L].astype(float)
                    signal += effect * (column - column.mean()) / max(column.std(), 1e-9)
    noise = rng.normal(size=n) * signal.std() * np.sqrt(1 / EXPLAINED - 1)
    people = [f"s{i}" for i in range(n)]
    (folder / "scan.fam").write_text("".join(f"{p} {p} 0 0 0 -9\n" for p in people), encoding="ascii")
    rows = "".join(f"{p}\t{y:.6g}\n" for p, y in zip(people, signal + noise, strict=True))
    (folder / "trait.tsv").write_text(f"id\theight\n{rows}", encoding="ascii")
    return causal


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--variants", type=int, default=1_000_000)
    parser.add_argument("--individuals", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    print("causal variants:", *write(given.folder, given.individuals, given.variants, given.seed))
