"use strict";
// Inclusion probabilities under conditions, as batches of sweeps whose mean sharpens while a chain runs.

{
  const BURN_IN = 30; // sweeps
  const BATCH = 20; // sweeps, longer than the chain's memory

  variegate.Answer = class {
    constructor(form, question) {
      this.chain = new variegate.Chain(form, question);
      this.one = new Float64Array(form.n);
      this.sum = new Float64Array(form.n);
      this.squares = new Float64Array(form.n);
      this.count = 0;
      this.evidence = 0; // log evidences of the last set of each batch, summed
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
      this.evidence += this.chain.state.logEvidence(this.chain.state.j);
    }

    get report() {
      return { sum: this.sum, squares: this.squares, count: this.count, evidence: this.evidence };
    }
  };

  // means over all batches of all chains, and the error of the least certain one
  variegate.merged = (reports) => {
    const count = reports.reduce((sum, r) => sum + r.count, 0);
    const probability = reports[0].sum.map((_, m) => reports.reduce((sum, r) => sum + r.sum[m], 0) / count);
    let error = count > 1 ? 0 : 0.5;
    for (let m = 0; m < probability.length; m++) {
      const p = probability[m];
      const within = reports.reduce((sum, r) => sum + r.squares[m], 0) / count - p * p;
      const between = reports.reduce((sum, r) => sum + (r.sum[m] / r.count - p) ** 2, 0);
      const chains = reports.length > 1 ? between / (reports.length - 1) / reports.length : 0;
      error = Math.max(error, Math.sqrt(Math.max(within / Math.max(count - 1, 1), chains)));
    }
    return { probability, error, evidence: reports.reduce((sum, r) => sum + r.evidence, 0) / count };
  };
}
