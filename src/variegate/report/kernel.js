"use strict";
// The distribution q over sets, inside the page: conditional inclusion probabilities and best sets.
//
// The page holds unit rows u_i and lengths of a factor F with K0 = FFᵀ, the marginal kernel of a calmer twin q0 of q:
// features that the data demand strongly ("raised") have had their weight lowered, so that no eigenvalue of K0 is
// near 1. Everything asked of q is then a change of weights, w = ∞ for a feature that is included, 0 for one that is
// excluded, e^lift for one that is raised back. With t = 1/(w − 1), inclusions and raises P first, then exclusions X:
//
//   stack [F_Pᵀ; diag(√t_P)] = QR, Q = [Q_F; Q_L]         (√t kept apart from F: it may be as small as e^-300)
//   v_i = Q_Fᵀ f_i,   K1_ij = f_i·f_j − v_i·v_j            for features outside P
//   P(i) = K1_ii + |C⁻¹ K1_Xi|²,   CCᵀ = I − K1_XX
//   P(j) = (1 + t_j) (1 − |row j of Q_L|² + |C⁻¹ V_X (row j of Q_L)ᵀ|²)      for raised j
//
// report/kernel.py says where the numbers come from; the tests hold them against q.condition in Python.

const variegate = (() => {
  const COPY = 1e-3; // an included row that sticks out less than this is a copy of those before it
  const ROUNDING = 1e-6; // what sticks out less than this is rounding: rows are stored to 24 bits
  const NEARLY_CERTAIN = 1e-5; // an exclusion less probable than this cannot be computed from rounded rows
  const APART = 1e-5; // share of a squared length: what is left of it below this is rounding of the cosines
  const WORTHWHILE = 1e-6; // an exchange has to raise log q by more than rounding

  class Impossible extends Error {
    constructor(reason, item) {
      super(reason);
      this.reason = reason;
      this.item = item;
    }
  }

  // --- numbers as text ---------------------------------------------------------------------------------------

  function bytes(text) {
    const raw = atob(text);
    const out = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
    return out;
  }

  const doubles = (text) => new Float64Array(bytes(text).buffer);
  const singles = (text) => new Float32Array(bytes(text).buffer);

  function integers24(text) {
    const raw = bytes(text);
    const out = new Float32Array(raw.length / 3); // a float holds 24 bits exactly
    for (let i = 0, k = 0; i < out.length; i++, k += 3) {
      out[i] = ((raw[k] << 8) | (raw[k + 1] << 16) | (raw[k + 2] << 24)) >> 8;
    }
    return out;
  }

  function open(data) {
    const model = {
      kind: data.kind,
      M: data.names.length,
      probability: doubles(data.probability), // of the posterior
      own: doubles(data.own), // of q without conditions
      logDiagonal: doubles(data.log_diagonal),
      work: 0, // multiplications so far: what a test can count, where a clock would lie
    };
    if (data.kind !== "dpp") return model;
    model.d = data.dimensions;
    model.rows = integers24(data.rows);
    model.scale = doubles(data.scale);
    model.rho = doubles(data.rho);
    model.triangle = singles(data.triangle);
    model.lift = new Map(data.raised.map((item, k) => [item, data.lift[k]]));
    model.length = model.rho.map((r, i) => r * Math.exp((model.logDiagonal[i] - (model.lift.get(i) ?? 0)) / 2));
    model.columns = new Map(); // products with unit rows of the kernel, as items are needed
    return model;
  }

  // --- small linear algebra ----------------------------------------------------------------------------------

  function unitRow(model, item) {
    const { d, rows } = model;
    const out = new Float64Array(d);
    for (let k = 0; k < d; k++) out[k] = rows[item * d + k] * model.scale[item];
    return out;
  }

  function timesRows(model, x) {
    // u_i·x for every i
    const { M, d, rows, scale } = model;
    const out = new Float64Array(M);
    const whole = d - (d % 4);
    for (let i = 0, at = 0; i < M; i++, at += d) {
      // four sums at a time: a processor waits for the last addition before the next one to the same sum
      let a = 0;
      let b = 0;
      let c = 0;
      let e = 0;
      for (let k = 0; k < whole; k += 4) {
        a += rows[at + k] * x[k];
        b += rows[at + k + 1] * x[k + 1];
        c += rows[at + k + 2] * x[k + 2];
        e += rows[at + k + 3] * x[k + 3];
      }
      for (let k = whole; k < d; k++) a += rows[at + k] * x[k];
      out[i] = (a + b + (c + e)) * scale[i];
    }
    model.work += M * d;
    return out;
  }

  function dot(a, b) {
    let sum = 0;
    for (let k = 0; k < a.length; k++) sum += a[k] * b[k];
    return sum;
  }

  function cholesky(A, tooSmall) {
    const n = A.length;
    const C = A.map(() => new Float64Array(n));
    for (let i = 0; i < n; i++) {
      for (let j = 0; j <= i; j++) {
        let sum = A[i][j];
        for (let k = 0; k < j; k++) sum -= C[i][k] * C[j][k];
        if (i > j) C[i][j] = sum / C[j][j];
        else if (sum <= tooSmall) return null;
        else C[i][i] = Math.sqrt(sum);
      }
    }
    return C;
  }

  function solveLower(C, x) {
    // in place: C⁻¹x
    for (let i = 0; i < x.length; i++) {
      for (let k = 0; k < i; k++) x[i] -= C[i][k] * x[k];
      x[i] /= C[i][i];
    }
    return x;
  }

  // --- conditioning ------------------------------------------------------------------------------------------

  function observedItems(model, include, exclude) {
    const settled = new Set([...include, ...exclude]);
    const raised = [...model.lift].filter(([item]) => !settled.has(item)).sort((a, b) => b[1] - a[1]);
    return [
      ...include.map((item) => ({ item, t: 0, root: 0 })),
      ...raised.map(([item, lift]) => ({
        item,
        t: 1 / Math.expm1(lift),
        root: Math.exp(-Math.min(lift, 600) / 2) / Math.sqrt(-Math.expm1(-lift)) / model.length[item],
      })),
    ];
  }

  function orthonormal(model, observed, nIncluded) {
    // Q of the stack: columns of d numbers and of |P| numbers, by Gram and Schmidt, twice
    const n = observed.length;
    const Q = [];
    observed.forEach(({ item, root }, k) => {
      const top = unitRow(model, item);
      const low = new Float64Array(n);
      low[k] = root;
      for (let pass = 0; pass < 2; pass++) {
        for (const q of Q) {
          const along = dot(top, q.top) + dot(low, q.low);
          for (let i = 0; i < top.length; i++) top[i] -= along * q.top[i];
          for (let i = 0; i <= k; i++) low[i] -= along * q.low[i];
        }
      }
      const sticksOut = Math.sqrt(dot(top, top));
      if (k < nIncluded && !(sticksOut > COPY)) throw new Impossible("copy", item);
      if (sticksOut < ROUNDING) top.fill(0);
      const length = Math.sqrt(dot(top, top) + dot(low, low)) || 1;
      Q.push({ top: top.map((x) => x / length), low: low.map((x) => x / length) });
    });
    model.work += n * n * (model.d + n);
    return Q;
  }

  function condition(model, include, exclude) {
    if (model.kind === "independent") return settle(model.probability.slice(), include, exclude);
    const { M, length } = model;
    const observed = observedItems(model, include, exclude);
    const Q = orthonormal(model, observed, include.length);
    const V = Q.map((q) => timesRows(model, q.top));
    const out = new Float64Array(M);
    for (let i = 0; i < M; i++) {
      let rest = 1;
      for (const v of V) rest -= v[i] * v[i];
      out[i] = length[i] * length[i] * rest;
    }
    observed.forEach(({ item, t }, j) => {
      if (j < include.length) return;
      let seen = 0;
      for (const q of Q) seen += q.low[j] * q.low[j];
      out[item] = (1 + t) * (1 - seen);
    });
    if (exclude.length) withoutExcluded(model, { out, observed, Q, V, nIncluded: include.length }, exclude);
    return settle(out, include, exclude);
  }

  function withoutExcluded(model, state, exclude) {
    const { M, length } = model;
    const { out, observed, Q, V } = state;
    const given = exclude.map((b) => {
      const column = timesRows(model, unitRow(model, b));
      for (let i = 0; i < M; i++) {
        let rest = column[i];
        for (const v of V) rest -= v[b] * v[i];
        column[i] = length[b] * length[i] * rest;
      }
      return column;
    });
    const C = cholesky(
      exclude.map((b, r) => exclude.map((c, s) => (r === s ? 1 : 0) - given[s][b])),
      NEARLY_CERTAIN,
    );
    if (C === null) throw new Impossible("certain", exclude[exclude.length - 1]);
    const raise = (x) => {
      solveLower(C, x);
      return dot(x, x);
    };
    const raised = new Set(observed.map(({ item }) => item));
    for (let i = 0; i < M; i++) if (!raised.has(i)) out[i] += raise(given.map((column) => column[i]));
    observed.forEach(({ item, t }, j) => {
      if (j < state.nIncluded) return;
      const seen = exclude.map((b) => length[b] * Q.reduce((sum, q, k) => sum + V[k][b] * q.low[j], 0));
      out[item] += (1 + t) * raise(seen);
    });
    model.work += M * exclude.length * (V.length + exclude.length);
  }

  function settle(out, include, exclude) {
    for (let i = 0; i < out.length; i++) out[i] = Math.min(Math.max(out[i], 0), 1);
    for (const i of include) out[i] = 1;
    for (const i of exclude) out[i] = 0;
    return out;
  }

  // --- the most probable set of a size: greedy growth, then exchange --------------------------------------------

  function similarityColumn(model, item) {
    // cosines of the rows of Φ with that of an item: (LᵀU)ᵢ·(LᵀU)_item, lengths 1/ρ
    let found = model.columns.get(item);
    if (found) return found;
    const { d, triangle, rho } = model;
    const u = unitRow(model, item);
    const half = new Float64Array(d);
    const x = new Float64Array(d);
    for (let i = 0, at = 0; i < d; at += ++i) for (let k = 0; k <= i; k++) half[k] += triangle[at + k] * u[i];
    for (let i = 0, at = 0; i < d; at += ++i) for (let k = 0; k <= i; k++) x[i] += triangle[at + k] * half[k];
    found = timesRows(model, x);
    for (let i = 0; i < found.length; i++) found[i] *= rho[i] * rho[item];
    found[item] = 1;
    model.columns.set(item, found);
    return found;
  }

  function extend(model, basis, item) {
    // one more direction: products of all rows with it, by Gram and Schmidt on the columns
    const column = similarityColumn(model, item).slice();
    for (const q of basis) {
      const along = q[item];
      for (let i = 0; i < column.length; i++) column[i] -= along * q[i];
    }
    if (!(column[item] > APART)) return false;
    const length = Math.sqrt(column[item]);
    for (let i = 0; i < column.length; i++) column[i] /= length;
    basis.push(column);
    model.work += column.length * basis.length;
    return true;
  }

  function outside(model, basis) {
    const out = new Float64Array(model.M).fill(1);
    for (const q of basis) for (let i = 0; i < out.length; i++) out[i] -= q[i] * q[i];
    return out;
  }

  function bestSet(model, size, include, exclude) {
    const barred = new Set(exclude);
    const set = [...include];
    const open = (i) => !barred.has(i) && !set.includes(i);
    if (model.kind === "independent") {
      const order = [...model.logDiagonal.keys()].filter(open);
      order.sort((a, b) => model.logDiagonal[b] - model.logDiagonal[a] || a - b);
      return [...set, ...order.slice(0, Math.max(size - set.length, 0))];
    }
    const basis = [];
    for (const item of include) if (!extend(model, basis, item)) throw new Impossible("copy", item);
    while (set.length < size) {
      const apart = outside(model, basis);
      const item = best(model.M, (i) => (open(i) ? gain(model, i, apart[i]) : -Infinity));
      if (item < 0 || !extend(model, basis, item)) break;
      set.push(item);
    }
    for (let round = 0; round < 200 && exchange(model, set, include.length, open); round++);
    return set;
  }

  const gain = (model, i, apart) => (apart > APART ? model.logDiagonal[i] + Math.log(apart) : -Infinity);

  function best(n, value) {
    let found = -1;
    let top = -Infinity;
    for (let i = 0; i < n; i++) {
      const v = value(i);
      if (v > top) [found, top] = [i, v];
    }
    return found;
  }

  function exchange(model, set, nKept, open) {
    // the best swap, if it is one. Without its member j a set has one direction less, z_j: that of j outside the
    // span of the others; i in its place multiplies the determinant by (s_i + (φ_i·z_j)²) / s_j.
    const basis = [];
    for (const item of set) if (!extend(model, basis, item)) return false;
    const apart = outside(model, basis);
    const R = set.map((item) => basis.map((q) => q[item])); // row j: member j along the basis, lower triangular
    let move = { gain: WORTHWHILE };
    for (let j = nKept; j < set.length; j++) {
      const z = new Float64Array(set.length); // solves R z ∝ e_j
      z[j] = 1;
      solveLower(R, z);
      const length = Math.sqrt(dot(z, z));
      const cost = model.logDiagonal[set[j]] - 2 * Math.log(length);
      const along = new Float64Array(model.M);
      for (let k = j; k < set.length; k++) for (let i = 0; i < model.M; i++) along[i] += (z[k] / length) * basis[k][i];
      const replaced = (i) => gain(model, i, Math.max(apart[i], 0) + along[i] * along[i]);
      const item = best(model.M, (i) => (open(i) ? replaced(i) : -Infinity));
      if (item >= 0 && replaced(item) - cost > move.gain) move = { gain: replaced(item) - cost, j, item };
    }
    model.work += model.M * set.length * set.length;
    if (move.item === undefined) return false;
    set[move.j] = move.item;
    return true;
  }

  return { open, condition, bestSet, Impossible };
})();
