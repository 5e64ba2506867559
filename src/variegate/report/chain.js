"use strict";
// Draws sets from the posterior: a Gibbs sampler over the places of a set, each of which holds a feature or none.
//
// With K places, each of the K! / (K − |S|)! ways to put a set into them has weight p(S) (K − |S|)! / K!, so the set has
// its probability p(S). A place is emptied and refilled: with m, of odds o_m given the set R in the other places,
// or with none, with probabilities proportional to o_m and to the number of empty places. These probabilities, summed
// over the places, are averaged, rather than the sets, so all near-copies get their share at once. (N = 500, M = 2000, 400
// features in the page: after one second of one chain the largest error is 0.007; with averages along the process of
// inference/chain/kernel.py it was 0.030.) Sets of a fixed size have no empty place.

{
  const SPARE = 8; // places in addition to twice the largest set of the chains in Python
  const REBUILT = 16; // sweeps between rebuilds, against rounding errors
  const JUMP = 4; // largest move of the slab precision, in grid points

  const LEAST = 40; // e^−40 is below the rounding error of a sum
  const EIGHTHS = Float64Array.from({ length: 8 * LEAST + 1 }, (_, i) => Math.exp(-i / 8));

  // e^x for −40 < x ≤ 0 to ten digits: e^(−i/8) from a table, times a series for the rest
  function exponential(x) {
    const i = (-8 * x) | 0;
    const r = x + i * 0.125;
    return EIGHTHS[i] * (1 + r * (1 + r * (1 / 2 + r * (1 / 6 + r * (1 / 24 + r * (1 / 120 + r * (1 / 720)))))));
  }

  // odds over e^`most`, so that none overflows; `one` is the odds of 1 in these units
  class Odds {
    constructor(n) {
      this.of = new Float64Array(n);
      this.share = 0; // the part of them to count
      this.known = false; // whether they are those of the current set
    }

    fill(state, out) {
      const { of } = this;
      const { logOdds, factor } = state;
      const most = Math.max(state.fillOdds(out), 0);
      let total = 0;
      for (let m = 0; m < of.length; m++) {
        const x = logOdds[m] - most;
        of[m] = x > -LEAST ? factor[m] * exponential(x) : 0;
        total += of[m];
      }
      this.total = total;
      this.one = Math.exp(-most);
      this.known = true;
    }

    count(sum) {
      if (this.share) for (let m = 0; m < sum.length; m++) sum[m] += this.share * this.of[m];
      this.share = 0;
    }
  }

  variegate.Chain = class {
    constructor(form, { include, exclude, start }) {
      this.form = form;
      this.state = new variegate.State(form, include, exclude);
      this.fixed = form.size !== null;
      this.whole = new Odds(form.n); // given the set
      this.rest = new Odds(form.n); // given the set without the member of the current place
      this.places = new Int32Array(this.numberOfPlaces(include.length)).fill(-1);
      this.empty = this.places.length;
      this.sweeps = 0;
      for (const m of start) if (this.state.movable[m] && this.state.fits(m)) this.put(m);
      while (this.fixed && this.empty) this.put(this.state.bestAddition());
    }

    numberOfPlaces(included) {
      const { size, largest } = this.form;
      if (this.fixed && included > size) throw new variegate.Impossible("size");
      const movable = this.state.movable.reduce((sum, one) => sum + one, 0);
      return this.fixed ? size - included : Math.min(2 * largest + SPARE, movable);
    }

    put(m) {
      if (m < 0) throw new variegate.Impossible("size");
      if (!this.empty || this.state.inside[m]) return;
      this.state.add(m);
      this.places[this.places.length - this.empty] = m;
      this.empty -= 1;
    }

    // Refills every place, back and forth, since members added last are cheapest to remove. Adds to `sum`.
    // A member that is drawn again, as most are, never leaves the system.
    sweep(sum) {
      const { places } = this;
      const back = this.sweeps % 2;
      this.whole.known = false;
      for (let q = 0; q < places.length; q++) {
        const place = back ? places.length - 1 - q : q;
        const old = places[place];
        const odds = old >= 0 ? this.rest : this.whole;
        if (old >= 0 || !odds.known) this.fill(odds, old, sum);
        const none = this.fixed ? 0 : (this.empty + (old >= 0)) * odds.one;
        const m = odds.total + none > 0 ? this.drawn(odds, none) : this.kept(old, sum);
        if (m !== old) this.exchange(place, old, m);
      }
      for (const odds of [this.whole, this.rest]) odds.count(sum);
      this.sweeps += 1;
      this.refresh();
    }

    fill(odds, out, sum) {
      odds.count(sum);
      odds.fill(this.state, out);
    }

    drawn(odds, none) {
      const whole = odds.total + none;
      odds.share += 1 / whole;
      const aim = Math.random() * whole - none;
      return aim < 0 ? -1 : variegate.pick(odds.of, aim);
    }

    kept(old, sum) {
      // rounding can make the only feature that fits look dependent on the others
      if (old >= 0) sum[old] += 1;
      return old;
    }

    exchange(place, old, m) {
      if (old >= 0) this.state.remove(old);
      if (m >= 0) this.state.add(m);
      this.places[place] = m;
      this.empty += (old >= 0) - (m >= 0);
      if (m < 0) [this.whole, this.rest] = [this.rest, this.whole];
      this.whole.known = m < 0;
    }

    // draws the hyperparameters given the set
    refresh() {
      const { state, form } = this;
      const changed = form.logC.length > 1 && this.drawSlab();
      if (this.sweeps % REBUILT === 0) state.rebuild();
      else if (changed) state.changeSlab();
      if (form.logKappa.length > 1 && !this.fixed) this.drawSize();
    }

    drawSlab() {
      const { state, form } = this;
      const j = state.j + (Math.random() < 0.5 ? -1 : 1) * (1 + Math.floor(JUMP * Math.random()));
      if (j < 0 || j >= form.logC.length) return false;
      const prior = form.logPrior[state.i];
      const rise = state.logEvidence(j) - state.logEvidence(state.j) + prior[j] - prior[state.j];
      if (Math.log(Math.random()) >= rise) return false;
      state.j = j;
      return true;
    }

    drawSize() {
      const { state, form } = this;
      const log = form.logKappa.map((k, i) => state.order.length * k - form.logNormalizer[i] + form.logPrior[i][state.j]);
      const most = Math.max(...log);
      const weights = log.map((x) => Math.exp(x - most));
      state.i = variegate.pick(weights, Math.random() * weights.reduce((a, b) => a + b, 0));
    }
  };

  // the first position at which the running sum exceeds `aim`
  variegate.pick = (weights, aim) => {
    let last = -1;
    for (let m = 0; m < weights.length; m++) {
      if (!(weights[m] > 0)) continue;
      last = m;
      aim -= weights[m];
      if (aim < 0) return m;
    }
    return last;
  };
}
