"use strict";
// A triangular system that is updated when a member is added or removed; see inference/chain/system.py.

{
  // Σ f_i v_i over the rows from `start` on, four at a time, so that `out` is read and written less often.
  function combine(out, f, rows, start) {
    const end = rows.length;
    out.fill(0);
    let i = start;
    for (; i + 3 < end; i += 4) {
      const [v, w, x, y] = [rows[i], rows[i + 1], rows[i + 2], rows[i + 3]];
      const [a, b, c, d] = [f[i], f[i + 1], f[i + 2], f[i + 3]];
      for (let m = 0; m < out.length; m++) out[m] += a * v[m] + b * w[m] + c * x[m] + d * y[m];
    }
    for (; i < end; i++) {
      const [v, a] = [rows[i], f[i]];
      for (let m = 0; m < out.length; m++) out[m] += a * v[m];
    }
  }

  function rotate(v, w, c, s) {
    for (let m = 0; m < v.length; m++) {
      const x = v[m];
      const y = w[m];
      v[m] = c * x + s * y;
      w[m] = c * y - s * x;
    }
  }

  variegate.System = class {
    // L Lᵀ = G_SS + ridge·I, V = L⁻¹ G_S·, u = L⁻¹ b_S; D and R are the residuals of each of C columns
    constructor(G, b, C) {
      this.G = G;
      this.b = b;
      this.C = C;
      this.D = new Float64Array(C);
      this.R = new Float64Array(C);
      this.u = new Float64Array(C);
      this.members = [];
      this.L = [];
      this.V = [];
      this.spare = []; // unused rows
      this.rest = { D: new Float64Array(C), R: new Float64Array(C), explained: 0, rows: [] };
    }

    clear(ridge) {
      this.spare.push(...this.L.splice(0), ...this.V.splice(0));
      this.members.length = 0;
      for (let j = 0; j < this.C; j++) {
        this.D[j] = this.G[j * (this.C + 1)] + ridge;
        this.R[j] = this.b ? this.b[j] : 0;
      }
    }

    append(j, least) {
      const { D, R, V, C } = this;
      const k = V.length;
      const l = this.spare.pop() ?? new Float64Array(C);
      const w = this.spare.pop() ?? new Float64Array(C);
      const length = Math.sqrt(Math.max(D[j], least));
      for (let i = 0; i < k; i++) l[i] = V[i][j];
      combine(w, l, V, 0);
      l[k] = length;
      const u = R[j] / length;
      const G = this.G.subarray(j * C, (j + 1) * C);
      for (let m = 0; m < C; m++) {
        const x = (G[m] - w[m]) / length;
        w[m] = x;
        D[m] -= x * x;
        R[m] -= u * x;
      }
      this.u[k] = u;
      this.members.push(j);
      this.L.push(l);
      V.push(w);
    }

    delete(place) {
      // rotate the rows after it until the last one is free, and give that one back
      const { L, V, u, D, R, C } = this;
      this.spare.push(...L.splice(place, 1));
      this.members.splice(place, 1);
      for (let k = place; k < L.length; k++) {
        const length = Math.hypot(L[k][k], L[k][k + 1]);
        const c = L[k][k] / length;
        const s = L[k][k + 1] / length;
        for (let h = k; h < L.length; h++) {
          const x = L[h][k];
          const y = L[h][k + 1];
          L[h][k] = c * x + s * y;
          L[h][k + 1] = c * y - s * x;
        }
        const x = u[k];
        u[k] = c * x + s * u[k + 1];
        u[k + 1] = c * u[k + 1] - s * x;
        rotate(V[k], V[k + 1], c, s);
      }
      const last = V.pop();
      const end = u[V.length];
      for (let m = 0; m < C; m++) {
        D[m] += last[m] * last[m];
        R[m] += end * last[m];
      }
      this.spare.push(last);
    }

    // Fills `rest` with the residuals given the set without the members from `place` to `stop`; the system stays the same.
    // With x the unit vector along L⁻¹e for such a member e, deleting it would give back the row xᵀV.
    without(place, stop) {
      const { V, u, rest } = this;
      const directions = [];
      this.spare.push(...rest.rows.splice(0));
      rest.D.set(this.D);
      rest.R.set(this.R);
      rest.explained = this.explained;
      for (let q = place; q < stop; q++) {
        const x = this.direction(q, place, directions);
        const row = this.spare.pop() ?? new Float64Array(this.C);
        combine(row, x, V, place);
        let end = 0;
        for (let i = place; i < V.length; i++) end += x[i] * u[i];
        for (let m = 0; m < row.length; m++) {
          rest.D[m] += row[m] * row[m];
          rest.R[m] += end * row[m];
        }
        rest.explained -= end * end;
        rest.rows.push(row);
        directions.push(x);
      }
    }

    // L⁻¹ times the q-th unit vector, made orthogonal to `others` and of length one; zero before `place`
    direction(q, place, others) {
      const { L } = this;
      const x = new Float64Array(L.length);
      const dot = (y) => y.reduce((sum, value, i) => sum + value * x[i], 0);
      for (let i = q; i < L.length; i++) {
        let left = i === q ? 1 : 0;
        for (let j = q; j < i; j++) left -= L[i][j] * x[j];
        x[i] = left / L[i][i];
      }
      for (const y of others) {
        const along = dot(y);
        for (let i = place; i < x.length; i++) x[i] -= along * y[i];
      }
      const length = Math.sqrt(dot(x));
      for (let i = place; i < x.length; i++) x[i] /= length;
      return x;
    }

    get explained() {
      let total = 0;
      for (let i = 0; i < this.V.length; i++) total += this.u[i] * this.u[i];
      return total;
    }

    get logDet() {
      return this.L.reduce((sum, row, i) => sum + 2 * Math.log(row[i]), 0);
    }
  };

  // log|D| and eᵀD⁻¹e of a block, given its lower triangle; both arguments are overwritten
  variegate.blockGain = (D, e) => {
    let logDet = 0;
    let explained = 0;
    for (let i = 0; i < e.length; i++) {
      for (let j = 0; j < i; j++) {
        D[i][i] -= D[i][j] * D[i][j];
        e[i] -= D[i][j] * e[j];
      }
      const length = Math.sqrt(D[i][i]);
      logDet += 2 * Math.log(length);
      e[i] /= length;
      explained += e[i] * e[i];
      for (let h = i + 1; h < e.length; h++) {
        for (let j = 0; j < i; j++) D[h][i] -= D[h][j] * D[i][j];
        D[h][i] /= length;
      }
    }
    return { logDet, explained };
  };
}
