"use strict";
// A set under conditions, and the odds of every feature outside it.

{
  const DEPENDENT = 1e-12; // a smaller squared part outside the span of the others is rounding error, as in problem.py

  // log(1 − z); six terms of its series in t = z / (2 − z) are exact to rounding and faster than a logarithm
  function logOfRest(z) {
    const t = z / (2 - z);
    const s = t * t;
    if (s > 0.003) return Math.log(1 - z);
    return -2 * t * (1 + s * (1 / 3 + s * (1 / 5 + s * (1 / 7 + s * (1 / 9 + s / 11)))));
  }

  variegate.Impossible = class extends Error {
    constructor(reason, feature) {
      super(reason);
      this.reason = reason;
      this.feature = feature;
    }
  };

  variegate.State = class {
    constructor(form, include, exclude) {
      this.form = form;
      [this.i, this.j] = form.at; // hyperparameters, as grid indices
      this.systems = form.gram.map((G, k) => new variegate.System(G, form.information[k], form.C));
      this.volume = form.cosines ? new variegate.System(form.cosines, null, form.n) : null;
      this.order = []; // members, in the order of the systems
      this.inside = new Uint8Array(form.n);
      this.movable = form.tilt.map(Number.isFinite); // 0 or 1
      for (const m of [...include, ...exclude]) this.movable[m] = 0;
      this.logOdds = new Float64Array(form.n);
      this.factor = new Float64Array(form.n);
      this.clear();
      for (const m of include) {
        if (!this.fits(m)) throw new variegate.Impossible("copy", m);
        this.add(m);
      }
    }

    get c() {
      return Math.exp(this.form.logC[this.j]);
    }

    fits(m) {
      return Number.isFinite(this.form.tilt[m]) && (!this.volume || this.volume.D[m] > DEPENDENT);
    }

    clear() {
      for (const system of this.systems) system.clear(this.c);
      this.volume?.clear(this.form.nugget);
    }

    // against rounding errors
    rebuild() {
      const members = this.order;
      this.clear();
      this.order = [];
      for (const m of members) this.add(m);
    }

    // the systems for a new `j`; the volume stays
    changeSlab() {
      for (const system of this.systems) system.clear(this.c);
      for (const m of this.order) this.append(m);
    }

    append(m) {
      const { first } = this.form;
      for (const system of this.systems) {
        for (let j = first[m]; j < first[m + 1]; j++) system.append(j, this.c);
      }
    }

    add(m) {
      this.append(m);
      this.volume?.append(m, DEPENDENT);
      this.order.push(m);
      this.inside[m] = 1;
    }

    remove(m) {
      const place = this.order.indexOf(m);
      const [start, stop] = this.columnsAt(place);
      for (const system of this.systems) {
        for (let j = stop - 1; j >= start; j--) system.delete(j);
      }
      this.volume?.delete(place);
      this.order.splice(place, 1);
      this.inside[m] = 0;
    }

    // positions, in the systems, of the columns of a member
    columnsAt(place) {
      const { first } = this.form;
      const width = (m) => first[m + 1] - first[m];
      let start = 0;
      for (let i = 0; i < place; i++) start += width(this.order[i]);
      return [start, start + width(this.order[place])];
    }

    // Log-odds given the set without its member `out`, or given the whole set.
    // The odds of each movable feature outside are `factor` · e^`logOdds`: a root is faster than a logarithm.
    // Returns the largest of `logOdds`; for other features `factor` is 0 and `logOdds` −∞.
    fillOdds(out = -1) {
      const { form, logOdds, factor, inside, movable } = this;
      if (out >= 0) this.leaveOut(out);
      const constant = form.logKappa[this.i];
      for (let m = 0; m < form.n; m++) {
        logOdds[m] = form.tilt[m] + constant;
        factor[m] = 1;
      }
      this.systems.forEach((system, k) => this.addGains(system, out >= 0, form.noise[k]));
      if (this.volume) this.addVolume(out >= 0 ? this.volume.rest.D : this.volume.D);
      let most = -Infinity;
      for (let m = 0; m < form.n; m++) {
        if ((inside[m] && m !== out) || !movable[m] || !(factor[m] > 0)) {
          factor[m] = 0;
          logOdds[m] = -Infinity;
        } else if (logOdds[m] > most) most = logOdds[m];
      }
      return most;
    }

    leaveOut(m) {
      const place = this.order.indexOf(m);
      const columns = this.columnsAt(place);
      for (const system of this.systems) system.without(...columns);
      this.volume?.without(place, place + 1);
    }

    addVolume(left) {
      const { logOdds, factor } = this;
      const { power } = this.form;
      for (let m = 0; m < left.length; m++) {
        if (!(left[m] > DEPENDENT)) factor[m] = 0;
        else if (power === 1) factor[m] *= left[m];
        else logOdds[m] += power * Math.log(left[m]);
      }
    }

    // The evidence has −shape · log(rate − ½x); for an expansion, whose shape is negative, |shape| · log(rate + ½x).
    addGains(system, out, [shape, whole, floor]) {
      const { form, logOdds, factor, c } = this;
      const { D, R, explained } = out ? system.rest : system;
      const sign = Math.sign(shape);
      const rate = Math.max(whole - sign * 0.5 * explained, floor);
      const most = 1 - floor / rate;
      const part = (sign * 0.5) / rate;
      const gain = (x) => -shape * logOfRest(Math.min(part * x, most));
      if (form.C > form.n) return this.addBlockGains(system, out ? system.rest.rows : [], gain);
      for (let m = 0; m < form.n; m++) {
        const share = 1 / Math.max(D[m], c);
        logOdds[m] += gain(R[m] * R[m] * share);
        factor[m] *= Math.sqrt(c * share);
      }
    }

    addBlockGains(system, back, gain) {
      const { first } = this.form;
      for (let m = 0; m < this.form.n; m++) {
        if (!this.movable[m]) continue;
        const { logDet, explained } = this.block(system, back, first[m], first[m + 1]);
        this.logOdds[m] += 0.5 * ((first[m + 1] - first[m]) * Math.log(this.c) - logDet) + gain(explained);
      }
    }

    // `back`: number of rows given back
    block(system, back, start, stop) {
      const { G, V, C } = system;
      const { R } = back.length ? system.rest : system;
      const D = [];
      for (let i = start; i < stop; i++) {
        const row = [];
        for (let j = start; j <= i; j++) {
          let left = G[i * C + j];
          for (const v of V) left -= v[i] * v[j];
          for (const v of back) left += v[i] * v[j];
          row.push(i === j ? Math.max(left, 0) + this.c : left);
        }
        D.push(row);
      }
      return variegate.blockGain(D, R.slice(start, stop));
    }

    // log p(y | S) with slab precision number j, up to a constant
    logEvidence(j) {
      const c = Math.exp(this.form.logC[j]);
      return this.systems.reduce((sum, { members, G, b, C }, k) => {
        const block = members.map((p, i) => members.slice(0, i + 1).map((q) => G[p * C + q] + (p === q ? c : 0)));
        const { logDet, explained } = variegate.blockGain(block, members.map((p) => b[p]));
        const [shape, rate, floor] = this.form.noise[k];
        const left = Math.max(1 - Math.sign(shape) * 0.5 * explained / rate, floor / rate);
        return sum - 0.5 * (logDet - members.length * Math.log(c)) - shape * Math.log(left);
      }, 0);
    }

    // log p(y, S) at the current hyperparameters, up to a constant
    logJoint() {
      const { tilt, logKappa, power } = this.form;
      const prior = this.order.reduce((sum, m) => sum + tilt[m] + logKappa[this.i], 0);
      return this.logEvidence(this.j) + prior + (this.volume ? power * this.volume.logDet : 0);
    }

    // the feature whose addition, in place of `out`, gains most, or −1; fills `logOdds`
    bestAddition(out = -1) {
      const { logOdds, factor } = this;
      this.fillOdds(out);
      let best = -1;
      for (let m = 0; m < logOdds.length; m++) {
        if (factor[m] === 0) continue;
        logOdds[m] += Math.log(factor[m]);
        if (best < 0 || logOdds[m] > logOdds[best]) best = m;
      }
      return best;
    }
  };
}
