"use strict";
// The chains of the explorer, each in its own worker, or in the page if workers are not available.

{
  // Error at which an answer is final: the worst of some hundred features was then off by 0.008 in half of 192 runs, and by
  // 0.025 in one of a hundred. With N = 500, M = 2000 and 400 features in the page, two chains take 0.2 to 0.4 seconds.
  const KNOWN = 0.007;
  const LEAST = 300; // milliseconds: a small page reaches that error before anyone can see it, so it may go on
  const PATIENCE = 4000; // milliseconds at most
  const READABLE = 300; // milliseconds between updates of the rows: rows that jump cannot be read
  const CHAINS = Math.min(Math.max(navigator.hardwareConcurrency || 2, 2), 4);

  function started(receive) {
    const inPage = () => variegate.serve((found) => setTimeout(() => receive(found), 0));
    let send = null;
    const told = {}; // messages to repeat if the chain moves into the page
    try {
      const text = [...document.querySelectorAll("script.chain")].map((script) => script.textContent).join("\n");
      const worker = new Worker(URL.createObjectURL(new Blob([text], { type: "text/javascript" })));
      worker.onmessage = (event) => receive(event.data);
      worker.onerror = (event) => {
        event.preventDefault();
        worker.terminate();
        send = inPage();
        for (const message of Object.values(told)) send(message);
      };
      send = (message) => worker.postMessage(message);
    } catch {
      send = inPage();
    }
    return (message) => {
      told[message.form ? "form" : message.size === undefined ? "question" : "size"] = message;
      send(message);
    };
  }

  variegate.Asking = class {
    // `on`: answer({ probability, error, lost, passed, done }), impossible(reason, feature), best(set)
    constructor(form, on) {
      this.form = form;
      this.on = on;
      this.id = 0;
      this.running = false;
      this.chains = Array.from({ length: CHAINS }, (_, k) => started((found) => this.heard(k, found)));
      for (const send of this.chains) send({ form });
    }

    ask(include, exclude) {
      this.id += 1;
      this.reports = [];
      this.began = performance.now();
      this.drawn = 0;
      this.running = true;
      const starts = this.starts(include, exclude);
      const question = { id: this.id, milliseconds: PATIENCE, include, exclude };
      this.chains.forEach((send, k) => send({ ...question, start: starts[k % starts.length] }));
    }

    // the sampled sets that violate the fewest conditions come first
    starts(include, exclude) {
      const broken = (S) => include.filter((m) => !S.includes(m)).length + exclude.filter((m) => S.includes(m)).length;
      return this.form.starts.map((S) => [broken(S), S]).sort((a, b) => a[0] - b[0]).map(([, S]) => S);
    }

    askBest(question) {
      this.chains[0]({ id: this.id, start: this.form.probable, ...question });
    }

    // also discards pending answers
    stop() {
      this.id += 1;
      this.running = false;
      for (const send of this.chains) send({ stop: true });
    }

    heard(chain, found) {
      if (found.id !== this.id) return;
      if (found.best) this.on.best(found.best);
      else if (!this.running) return;
      else if (found.impossible) this.on.impossible(found.impossible, found.feature);
      else {
        this.reports[chain] = found.report;
        if (this.reports.filter(Boolean).length === CHAINS) this.learn();
      }
    }

    learn() {
      const passed = performance.now() - this.began;
      const { probability, error, lost } = variegate.merged(this.reports);
      const done = (error <= KNOWN && passed >= LEAST) || passed >= PATIENCE;
      if (!done && this.drawn && passed - this.drawn < READABLE) return;
      this.drawn = passed;
      if (done) {
        this.running = false;
        for (const send of this.chains) send({ stop: true });
      }
      this.on.answer({ probability, error, lost, passed, done });
    }
  };
}
