"use strict";
// The posterior over sets, and a chain that draws from it: the process of inference/chain/kernel.py, in the page.
// The same text runs in workers, one chain in each; see worker.js.

const variegate = (() => {
  const DEPENDENT = 1e-12; // a feature whose squared part outside the span of the others is smaller is a copy of them
  const LARGEST = 300; // log-odds beyond which a feature stays where it is
  const FLIPS = 60; // steps between new hyperparameters, about
  const BURN_IN = 12; // rounds
  const BATCH = 8; // rounds
  const ATTENTION = 4; // features that look useless are tried this often, all together

  class Impossible extends Error {
    constructor(reason, item) {
      super(reason);
      this.reason = reason;
      this.item = item;
    }
  }

  // --- what the page holds ------------------------------------------------------------------------------------

  function numbers(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  }

  function symmetric(triangle, n) {
    // rows of a matrix whose lower triangle is given row by row
    const rows = Array.from({ length: n }, () => new Float64Array(n));
    for (let i = 0, at = 0; i < n; i++) {
      for (let j = 0; j <= i; j++, at++) rows[i][j] = rows[j][i] = triangle[at];
    }
    return rows;
  }

  function open(form) {
    const n = form.first.length - 1;
    const C = form.first[n];
    const information = form.information.map(numbers);
    const gram = form.gram.map((text) => symmetric(numbers(text), C));
    let cosines = null;
    if (form.cosines === "gram") {
      const length = gram[0].map((row, i) => Math.sqrt(row[i]) || 1);
      cosines = gram[0].map((row, i) => row.map((value, j) => (i === j ? 1 : value / (length[i] * length[j]))));
    } else if (form.cosines) cosines = symmetric(numbers(form.cosines), n);
    return {
      n, C, gram, information, cosines,
      first: form.first, noise: form.noise, nugget: form.nugget, tilt: numbers(form.tilt), size: form.size,
      logKappa: form.log_kappa, logNormalizer: form.log_normalizer, logC: form.log_c, logPrior: form.log_prior,
      at: form.at,
    };
  }

  // --- a triangular system of the columns in the set ----------------------------------------------------------

  class System {
    // L Lᵀ = G_SS + ridge·I, V = L⁻¹ G_S·, u = L⁻¹ b_S; D and R are what the set leaves of each column
    constructor(G, b, C) {
      this.G = G;
      this.b = b;
      this.D = new Float64Array(C);
      this.R = new Float64Array(C);
      this.spare = [];
      this.clear(0);
    }

    clear(ridge) {
      for (const row of this.V ?? []) this.spare.push(row);
      this.ridge = ridge;
      this.members = [];
      this.V = [];
      this.L = [];
      this.u = [];
      for (let j = 0; j < this.D.length; j++) {
        this.D[j] = this.G[j][j] + ridge;
        this.R[j] = this.b ? this.b[j] : 0;
      }
    }

    append(j, least) {
      const { D, R, V } = this;
      const length = Math.sqrt(Math.max(D[j], least));
      const row = Float64Array.from(V, (v) => v[j]);
      const w = this.spare.pop() ?? new Float64Array(D.length);
      w.set(this.G[j]);
      for (let i = 0; i < V.length; i++) {
        const v = V[i];
        const f = row[i];
        for (let m = 0; m < w.length; m++) w[m] -= f * v[m];
      }
      const u = R[j] / length;
      for (let m = 0; m < w.length; m++) {
        const x = w[m] / length;
        w[m] = x;
        D[m] -= x * x;
        R[m] -= u * x;
      }
      V.push(w);
      this.L.push([...row, length]);
      this.u.push(u);
      this.members.push(j);
    }

    delete(place) {
      // rotate the rows behind it until the last one stands for nothing, and give that one back
      const { L, V, u, D, R } = this;
      L.splice(place, 1);
      this.members.splice(place, 1);
      for (let k = place; k < L.length; k++) {
        const row = L[k];
        const length = Math.hypot(row[k], row[k + 1]);
        const c = row[k] / length;
        const s = row[k + 1] / length;
        for (let h = k; h < L.length; h++) {
          const [x, y] = [L[h][k], L[h][k + 1]];
          L[h][k] = c * x + s * y;
          L[h][k + 1] = c * y - s * x;
        }
        const [v, w] = [V[k], V[k + 1]];
        for (let m = 0; m < v.length; m++) {
          const x = v[m];
          v[m] = c * x + s * w[m];
          w[m] = c * w[m] - s * x;
        }
        [u[k], u[k + 1]] = [c * u[k] + s * u[k + 1], c * u[k + 1] - s * u[k]];
        row.length = k + 1;
      }
      const last = V.pop();
      const end = u.pop();
      for (let m = 0; m < last.length; m++) {
        D[m] += last[m] * last[m];
        R[m] += end * last[m];
      }
      this.spare.push(last);
    }

    get explained() {
      return this.u.reduce((sum, x) => sum + x * x, 0);
    }

    inverse() {
      // L⁻¹, row by row
      const rows = [];
      this.L.forEach((l, h) => {
        const row = new Float64Array(h + 1);
        for (let i = 0; i < h; i++) {
          for (let j = 0; j <= i; j++) row[j] -= l[i] * rows[i][j];
        }
        for (let j = 0; j < h; j++) row[j] /= l[h];
        row[h] = 1 / l[h];
        rows.push(row);
      });
      return rows;
    }
  }

  function blockGain(D, e) {
    // log|D| and eᵀD⁻¹e; both arguments are overwritten
    let logDet = 0;
    let total = 0;
    for (let i = 0; i < e.length; i++) {
      for (let j = 0; j < i; j++) {
        D[i][i] -= D[i][j] * D[i][j];
        e[i] -= D[i][j] * e[j];
      }
      const length = Math.sqrt(D[i][i]);
      logDet += 2 * Math.log(length);
      e[i] /= length;
      total += e[i] * e[i];
      for (let h = i + 1; h < e.length; h++) {
        for (let j = 0; j < i; j++) D[h][i] -= D[h][j] * D[i][j];
        D[h][i] /= length;
      }
    }
    return [logDet, total];
  }

  function gain([a, , floor], rate, logC, logDet, x, inside) {
    if (a === 0) return 0.5 * (logC - logDet + x);
    const after = inside ? 1 / (1 + (0.5 * x) / rate) : Math.max(1 - (0.5 * x) / rate, floor / rate);
    return 0.5 * (logC - logDet) - a * Math.log(after);
  }

  // --- the chain ----------------------------------------------------------------------------------------------

  class Chain {
    // a set under conditions; `size` fixes the number of features
    constructor(form, include, exclude, start, size = form.size) {
      this.form = form;
      this.size = size;
      this.systems = form.gram.map((G, k) => new System(G, form.information[k], form.C));
      this.volume = form.cosines ? new System(form.cosines, null, form.n) : null;
      [this.i, this.j] = form.at;
      this.movable = new Uint8Array(form.n).fill(1);
      for (const m of [...include, ...exclude]) this.movable[m] = 0;
      this.order = [];
      this.inside = new Uint8Array(form.n);
      this.logOdds = new Float64Array(form.n);
      this.factor = new Float64Array(form.n);
      this.rate = new Float64Array(form.n);
      this.inclusion = new Float64Array(form.n);
      this.eta = ATTENTION / form.n;
      this.clear();
      const out = new Set(exclude);
      if (size !== null && include.length > size) throw new Impossible("size");
      for (const m of include) {
        if (!this.fits(m)) throw new Impossible("copy", m);
        this.add(m);
      }
      for (const m of start) {
        if (!this.inside[m] && !out.has(m) && this.fits(m) && this.order.length < (size ?? Infinity)) this.add(m);
      }
      if (size !== null) this.fill(size);
    }

    get c() {
      return Math.exp(this.form.logC[this.j]);
    }

    fits(m) {
      return Number.isFinite(this.form.tilt[m]) && (!this.volume || this.volume.D[m] > DEPENDENT);
    }

    fill(size) {
      while (this.order.length < size) {
        const m = this.bestAddition();
        if (m < 0) throw new Impossible("size");
        this.add(m);
      }
    }

    clear() {
      for (const system of this.systems) system.clear(this.c);
      if (this.volume) this.volume.clear(this.form.nugget);
    }

    rebuild() {
      const members = this.order;
      this.clear();
      this.order = [];
      for (const m of members) this.add(m);
    }

    add(m) {
      const [start, stop] = [this.form.first[m], this.form.first[m + 1]];
      for (const system of this.systems) {
        for (let j = start; j < stop; j++) system.append(j, this.c);
      }
      if (this.volume) this.volume.append(m, DEPENDENT);
      this.order.push(m);
      this.inside[m] = 1;
    }

    remove(m) {
      const { first } = this.form;
      const place = this.order.indexOf(m);
      const before = this.order.slice(0, place).reduce((sum, h) => sum + first[h + 1] - first[h], 0);
      for (const system of this.systems) {
        for (let j = first[m + 1] - first[m] - 1; j >= 0; j--) system.delete(before + j);
      }
      if (this.volume) this.volume.delete(place);
      this.order.splice(place, 1);
      this.inside[m] = 0;
    }

    fillOdds(members = true) {
      // the odds of every feature given the others are `factor` times e^`logOdds`: roots cost less than logarithms
      const { form, logOdds, factor } = this;
      const constant = form.logKappa[this.i];
      for (let m = 0; m < form.n; m++) {
        logOdds[m] = form.tilt[m] + constant;
        factor[m] = 1;
      }
      this.systems.forEach((system, k) => this.addOutside(system, form.noise[k]));
      if (this.volume) {
        const left = this.volume.D;
        for (let m = 0; m < form.n; m++) factor[m] *= left[m] > DEPENDENT ? left[m] : 0;
      }
      if (members) this.addMembers();
    }

    logOddsOutside(m) {
      return this.factor[m] > 0 ? this.logOdds[m] + Math.log(this.factor[m]) : -Infinity;
    }

    addOutside(system, noise) {
      const { form, logOdds, factor, inside, c } = this;
      const { D, R } = system;
      const [a, all, floor] = noise;
      const rate = a === 0 ? 1 : Math.max(all - 0.5 * system.explained, floor);
      const least = floor / rate;
      if (form.C > form.n) {
        for (let m = 0; m < form.n; m++) {
          if (!inside[m]) logOdds[m] += this.blockOutside(system, noise, rate, m, Math.log(c));
        }
        return;
      }
      for (let m = 0; m < form.n; m++) {
        const share = 1 / Math.max(D[m], c);
        const x = 0.5 * R[m] * R[m] * share;
        logOdds[m] += a === 0 ? x : -a * Math.log(Math.max(1 - x / rate, least));
        factor[m] *= Math.sqrt(c * share);
      }
    }

    blockOutside(system, noise, rate, m, logC) {
      const [start, stop] = [this.form.first[m], this.form.first[m + 1]];
      const block = [];
      const e = [];
      for (let i = start; i < stop; i++) {
        e.push(system.R[i]);
        const row = [];
        for (let j = start; j <= i; j++) {
          let total = system.G[i][j];
          for (const v of system.V) total -= v[i] * v[j];
          row.push(i === j ? Math.max(total, 0) + this.c : total);
        }
        block.push(row);
      }
      const [logDet, x] = blockGain(block, e);
      return gain(noise, rate, (stop - start) * logC, logDet, x, false);
    }

    addMembers() {
      const { form, logOdds, factor } = this;
      const constant = form.logKappa[this.i];
      for (const m of this.order) {
        logOdds[m] = form.tilt[m] + constant;
        factor[m] = 1;
      }
      this.systems.forEach((system, k) => {
        const noise = form.noise[k];
        const rate = noise[0] === 0 ? 1 : Math.max(noise[1] - 0.5 * system.explained, noise[2]);
        const Y = system.inverse();
        let start = 0;
        for (const m of this.order) {
          const wide = form.first[m + 1] - form.first[m];
          const P = Array.from({ length: wide }, () => new Float64Array(wide));
          const mu = new Float64Array(wide);
          for (let h = start; h < Y.length; h++) {
            for (let i = 0; i < wide; i++) {
              const y = Y[h][start + i] ?? 0;
              mu[i] += y * system.u[h];
              for (let j = 0; j <= i; j++) P[i][j] += y * (Y[h][start + j] ?? 0);
            }
          }
          const [logDet, x] = blockGain(P, mu);
          logOdds[m] += gain(noise, rate, wide * Math.log(this.c), -logDet, x, true);
          start += wide;
        }
      });
      if (this.volume) {
        const Y = this.volume.inverse();
        this.order.forEach((m, i) => {
          let variance = 0;
          for (let h = i; h < Y.length; h++) variance += Y[h][i] * Y[h][i];
          factor[m] /= variance;
        });
      }
    }

    // one stretch of time, in which the set moves; adds to `inclusion`
    round(time) {
      this.rebuild();
      return this.size === null ? this.free(time) : this.exchanges();
    }

    free(time) {
      const { form, logOdds, factor, rate, inclusion, movable, inside, eta } = this;
      let steps = 0;
      let weight = 0;
      for (;;) {
        this.fillOdds();
        let total = 0;
        for (let m = 0; m < form.n; m++) {
          const odds = factor[m] * Math.exp(Math.min(logOdds[m], LARGEST));
          logOdds[m] = odds / (1 + odds);
          rate[m] = !movable[m] || (odds === 0 && !inside[m]) ? 0
            : inside[m] ? 1 + eta + eta / Math.max(odds, 1e-130) : odds + eta * (1 + odds);
          total += rate[m];
        }
        const wait = total > 0 ? -Math.log(1 - Math.random()) / total : Infinity;
        const stay = Math.min(wait, time);
        for (let m = 0; m < form.n; m++) inclusion[m] += stay * logOdds[m];
        weight += stay;
        if (wait >= time) return [steps, weight];
        time -= wait;
        const m = pick(rate, total);
        if (inside[m]) this.remove(m);
        else this.add(m);
        steps += 1;
      }
    }

    exchanges() {
      const { form, logOdds, rate, inclusion, movable, inside } = this;
      const moving = this.order.filter((m) => movable[m]);
      if (!moving.length) {
        for (const m of this.order) inclusion[m] += 1;
        return [0, 1];
      }
      for (let step = 0; step < FLIPS; step++) {
        const members = this.order.filter((m) => movable[m]);
        const out = members[Math.floor(Math.random() * members.length)];
        this.remove(out);
        this.fillOdds(false);
        let most = -Infinity;
        for (let m = 0; m < form.n; m++) {
          logOdds[m] = movable[m] && !inside[m] ? this.logOddsOutside(m) : -Infinity;
          most = Math.max(most, logOdds[m]);
        }
        let total = 0;
        for (let m = 0; m < form.n; m++) {
          rate[m] = logOdds[m] > -Infinity ? Math.exp(logOdds[m] - most) : 0;
          total += rate[m];
        }
        const possible = most > -Infinity && total > 0;
        for (let m = 0; m < form.n; m++) inclusion[m] += inside[m] ? 1 : possible ? rate[m] / total : Number(m === out);
        this.add(possible ? pick(rate, total) : out);
      }
      return [FLIPS, FLIPS];
    }

    // hyperparameters given the set
    refresh() {
      const { form } = this;
      if (form.logC.length > 1) {
        const j = this.j + (Math.random() < 0.5 ? -1 : 1) * (1 + Math.floor(4 * Math.random()));
        if (j >= 0 && j < form.logC.length) {
          const rise = this.logEvidence(j) - this.logEvidence(this.j) + form.logPrior[this.i][j] - form.logPrior[this.i][this.j];
          if (Math.log(Math.random()) < rise) this.j = j;
        }
      }
      if (form.logKappa.length > 1 && this.size === null) {
        const log = form.logKappa.map((k, i) => this.order.length * k - form.logNormalizer[i] + form.logPrior[i][this.j]);
        const most = Math.max(...log);
        const weights = log.map((x) => Math.exp(x - most));
        this.i = pick(weights, weights.reduce((a, b) => a + b, 0));
      }
    }

    logEvidence(j) {
      const c = Math.exp(this.form.logC[j]);
      return this.systems.reduce((sum, system, k) => {
        const S = system.members;
        const block = S.map((a, i) => S.slice(0, i + 1).map((b) => system.G[a][b] + (a === b ? c : 0)));
        const [logDet, x] = blockGain(block, S.map((a) => system.b[a]));
        const [shape, rate, floor] = this.form.noise[k];
        const noise = shape === 0 ? 0.5 * x : -shape * Math.log(Math.max(rate - 0.5 * x, floor));
        return sum - 0.5 * (logDet - S.length * Math.log(c)) + noise;
      }, 0);
    }

    logJoint() {
      // of the present set, at the present hyperparameters, up to a constant
      const { form } = this;
      let value = this.logEvidence(this.j);
      for (const m of this.order) value += form.tilt[m] + form.logKappa[this.i];
      if (this.volume) value += this.volume.L.reduce((sum, row) => sum + 2 * Math.log(row[row.length - 1]), 0);
      return value;
    }

    bestAddition() {
      this.fillOdds(false);
      let best = -1;
      for (let m = 0; m < this.form.n; m++) {
        if (!this.movable[m] || this.inside[m]) continue;
        this.logOdds[m] = this.logOddsOutside(m);
        if (this.logOdds[m] > (best < 0 ? -Infinity : this.logOdds[best])) best = m;
      }
      return best;
    }
  }

  function pick(weights, total) {
    let left = Math.random() * total;
    let last = 0;
    for (let m = 0; m < weights.length; m++) {
      if (weights[m] <= 0) continue;
      last = m;
      left -= weights[m];
      if (left < 0) return m;
    }
    return last;
  }

  // --- answers ------------------------------------------------------------------------------------------------

  class Answer {
    // inclusion probabilities under conditions, by one chain, as batches whose mean sharpens as it runs
    constructor(form, include, exclude, start) {
      this.chain = new Chain(form, include, exclude, start);
      this.time = 0.05;
      for (let round = 0; round < BURN_IN; round++) {
        const [steps] = this.chain.round(this.time);
        this.chain.refresh();
        this.time *= Math.min(Math.max(FLIPS / Math.max(steps, 1), 0.25), 4);
      }
      this.sum = new Float64Array(form.n);
      this.squares = new Float64Array(form.n);
      this.count = 0;
    }

    run(milliseconds) {
      const end = performance.now() + milliseconds;
      do this.batch();
      while (performance.now() < end);
    }

    batch() {
      const { inclusion } = this.chain;
      inclusion.fill(0);
      let weight = 0;
      for (let round = 0; round < BATCH; round++) {
        weight += this.chain.round(this.time)[1];
        this.chain.refresh();
      }
      for (let m = 0; m < inclusion.length; m++) {
        const p = inclusion[m] / weight;
        this.sum[m] += p;
        this.squares[m] += p * p;
      }
      this.count += 1;
    }

    get report() {
      return { sum: this.sum, squares: this.squares, count: this.count };
    }
  }

  function merged(reports) {
    // means over all batches of all chains, and the error of the least certain one
    const count = reports.reduce((sum, r) => sum + r.count, 0);
    const probability = reports[0].sum.map((_, m) => reports.reduce((sum, r) => sum + r.sum[m], 0) / count);
    let error = count > 1 ? 0 : 0.5;
    for (let m = 0; m < probability.length; m++) {
      const p = probability[m];
      const squares = reports.reduce((sum, r) => sum + r.squares[m], 0) / count - p * p;
      const between = reports.reduce((sum, r) => sum + (r.sum[m] / r.count - p) ** 2, 0);
      const chains = reports.length > 1 ? between / (reports.length - 1) / reports.length : 0;
      error = Math.max(error, Math.sqrt(Math.max(squares / Math.max(count - 1, 1), chains)));
    }
    return { probability, error };
  }

  function bestSet(form, size, include, exclude, start, margin) {
    // greedy growth, and the set at hand, each exchanged member by member until nothing improves; the set at hand
    // stays unless another one is better by more than the margin. As large as it can be where the size is too large.
    const chain = (from) => {
      const found = new Chain(form, include, exclude, from, null);
      while (found.order.length < size) {
        const m = found.bestAddition();
        if (m < 0 || found.logOdds[m] === -Infinity) break;
        found.add(m);
      }
      return found;
    };
    const polished = (found) => {
      for (let better = true; better; ) {
        better = false;
        for (const m of found.order.filter((h) => found.movable[h])) {
          found.remove(m);
          const come = found.bestAddition();
          const gained = come >= 0 && come !== m && found.logOdds[come] > found.logOdds[m] + 1e-9;
          found.add(gained ? come : m);
          better ||= gained;
        }
        found.rebuild();
      }
      return found;
    };
    const atHand = start.length === size ? chain(start) : null;
    const kept = atHand && start.every((m) => atHand.inside[m]) ? [atHand.logJoint() + margin, [...atHand.order]] : null;
    const found = [polished(chain([])), ...(atHand ? [polished(atHand)] : [])].map((c) => [c.logJoint(), c.order]);
    if (kept) found.push(kept);
    return found.reduce((a, b) => (b[0] > a[0] ? b : a))[1].sort((a, b) => a - b);
  }

  return { open, Answer, Chain, System, Impossible, bestSet, merged };
})();
