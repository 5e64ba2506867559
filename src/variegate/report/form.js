"use strict";
// Decodes the posterior in the page. This file and those up to worker.js also run in workers.

const variegate = {};

{
  function numbers(text, Kind = Float64Array) {
    const letters = atob(text);
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
    return new Kind(bytes.buffer);
  }

  function symmetric(triangle, n) {
    // an n × n matrix, row by row, from its lower triangle
    const full = new Float64Array(n * n);
    for (let i = 0, at = 0; i < n; i++) {
      for (let j = 0; j <= i; j++, at++) full[i * n + j] = full[j * n + i] = triangle[at];
    }
    return full;
  }

  function cosinesOf(G, n) {
    const found = new Float64Array(n * n);
    const length = Array.from({ length: n }, (_, i) => Math.sqrt(G[i * n + i]) || 1);
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) found[i * n + j] = i === j ? 1 : G[i * n + j] / (length[i] * length[j]);
    }
    return found;
  }

  const fitted = (form) => ({
    information: form.information.map((text) => numbers(text)),
    noise: form.noise, tilt: numbers(form.tilt), typical: form.typical,
  });

  // Fields are those of `Excerpt` in inference/chain/excerpt.py; n features with C columns.
  variegate.open = (form) => {
    const n = form.first.length - 1;
    const C = form.first[n];
    const kind = form.noise.every(([shape]) => shape > 0) ? Float64Array : Float32Array;
    const gram = form.gram.map((text) => symmetric(numbers(text, kind), C));
    const cosines = form.cosines === "gram" ? cosinesOf(gram[0], n) : form.cosines && symmetric(numbers(form.cosines, kind), n);
    return {
      n, C, gram, cosines, first: form.first,
      nugget: form.nugget, power: form.power ?? 1, size: form.size, largest: form.largest,
      logKappa: form.log_kappa, logNormalizer: form.log_normalizer, logC: form.log_c, logPrior: form.log_prior, at: form.at,
      without: form.without, opened: new Map(), // further forms, see excerpt_without.py, and those decoded so far
      ...fitted(form),
    };
  };

  // the form for sets without the excluded features; the first that fits, since it matters most
  variegate.formWithout = (form, exclude) => {
    const one = form.without.find(({ features }) => features.every((m) => exclude.includes(m)));
    return one ? opened(form, one) : form;
  };

  function opened(form, one) {
    if (!form.opened.has(one)) {
      const logPrior = form.logPrior.map((row) => row.map((x, j) => x + one.curve[j]));
      form.opened.set(one, { ...form, gram: gramsOf(form, one), logPrior, ...fitted(one) });
    }
    return form.opened.get(one);
  }

  // a combination of other forms' matrices, plus steps; see embedded.py
  function gramsOf(form, one) {
    const single = (m) => form.without.find(({ features }) => features.length === 1 && features[0] === m);
    const near = [form, ...(one.features.length > 1 ? one.features.map((m) => opened(form, single(m))) : [])];
    return one.steps.map((text, k) => {
      const G = symmetric(numbers(text, Int8Array), form.C);
      for (let i = 0; i < G.length; i++) G[i] *= one.step[k];
      near.forEach(({ gram }, j) => {
        for (let i = 0; i < G.length; i++) G[i] += one.weights[k][j] * gram[k][i];
      });
      return G;
    });
  }
}
