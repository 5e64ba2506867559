"use strict";
// A triangular system that is updated when a member is added or removed; see inference/chain/system.py.

{
  function subtract(row, f, v) {
    for (let m = 0; m < row.length; m++) row[m] -= f * v[m];
  }

  function subtractTwo(row, f, v, g, w) {
    for (let m = 0; m < row.length; m++) row[m] -= f * v[m] + g * w[m];
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
    // L Lᵀ = G_SS + ridge·I, V = L⁻¹ G_S·, u = L⁻¹ b_S; D and R are what the set leaves of each of C columns
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
      this.spare = []; // rows that are not in use
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
      w.set(this.G.subarray(j * C, (j + 1) * C));
      for (let i = 0; i < k; i++) l[i] = V[i][j];
      for (let i = 0; i + 1 < k; i += 2) subtractTwo(w, l[i], V[i], l[i + 1], V[i + 1]);
      if (k % 2) subtract(w, l[k - 1], V[k - 1]);
      l[k] = length;
      const u = R[j] / length;
      for (let m = 0; m < C; m++) {
        const x = w[m] / length;
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
      // rotate the rows behind it until the last one stands for nothing, and give that one back
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
