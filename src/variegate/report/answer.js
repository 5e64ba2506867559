"use strict";
// Inclusion probabilities under conditions: means over batches of sweeps, which improve while a chain runs.

{
  const BURN_IN = 10; // sweeps: chains start from sampled sets, and answers after 300 ms were no better with 30
  const BATCH = 20; // sweeps, more than the chain remembers

  variegate.Answer = class {
    constructor(form, question) {
      this.form = variegate.formWithout(form, question.exclude);
      this.chain = new variegate.Chain(this.form, question);
      this.one = new Float64Array(form.n);
      this.sum = new Float64Array(form.n);
      this.squares = new Float64Array(form.n);
      this.count = 0;
      this.lost = 0; // evidence (nats) that the last set of each batch lacks against the sets that the form was fitted to, summed
      for (let sweep = 0; sweep < BURN_IN; sweep++) this.chain.sweep(this.one);
    }

    run(milliseconds) {
      const end = performance.now() + milliseconds;
      do this.batch();
      while (performance.now() < end);
    }

    batch() {
      const { one } = this;
      one.fill(0);
      for (let sweep = 0; sweep < BATCH; sweep++) this.chain.sweep(one);
      for (let m = 0; m < one.length; m++) {
        const p = one[m] / BATCH;
        this.sum[m] += p;
        this.squares[m] += p * p;
      }
      this.count += 1;
      this.lost += this.form.typical - this.chain.state.logEvidence(this.chain.state.j);
    }

    get report() {
      return { sum: this.sum, squares: this.squares, count: this.count, lost: this.lost };
    }
  };

  // Means over all batches of all chains, and the error of the least certain one. Of hundreds of probabilities some differ
  // between chains by chance, so errors within chains are scaled by how much chains differ over all features; a single
  // difference counts only if it exceeds three such errors. When every difference counted, runs took 380 batches to reach an
  // error of 0.006; now they take 200 (M = 2000) and are as close to the answer of a long run.
  variegate.merged = (reports) => {
    const count = reports.reduce((sum, r) => sum + r.count, 0);
    const total = (of) => reports.reduce((sum, r) => sum + of(r), 0);
    const probability = reports[0].sum.map((_, m) => total((r) => r.sum[m]) / count);
    const within = probability.map((p, m) => Math.max(total((r) => r.squares[m]) / count - p * p, 0) / Math.max(count - 1, 1));
    const pairs = Math.max(reports.length - 1, 1) * reports.length;
    const between = probability.map((p, m) => total((r) => (r.sum[m] / r.count - p) ** 2) / pairs);
    const sum = (values) => values.reduce((a, b) => a + b, 0);
    const scale = Math.max(sum(between) / sum(within) || 1, 1);
    const errors = within.map((w, m) => Math.max(w * scale, between[m] > 9 * w ? between[m] : 0));
    const error = count > 1 ? Math.sqrt(errors.reduce((a, b) => Math.max(a, b), 0)) : 0.5;
    return { probability, error, lost: total((r) => r.lost) / count };
  };
}
