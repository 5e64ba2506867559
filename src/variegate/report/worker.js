"use strict";
// One chain of the explorer, beside chain.js in a worker: it answers the last question until another one comes.

function serve(send) {
  const SLICE = 40; // milliseconds between looks at new questions
  let form = null;
  let asked = null;

  function begin(question) {
    asked = { id: question.id, end: performance.now() + question.milliseconds };
    try {
      asked.answer = new variegate.Answer(form, question.include, question.exclude, question.start);
    } catch (error) {
      if (!(error instanceof variegate.Impossible)) throw error;
      send({ id: question.id, impossible: error.reason, item: error.item });
      asked = null;
      return;
    }
    go(asked);
  }

  function go(now) {
    if (asked !== now) return;
    now.answer.run(SLICE);
    send({ id: now.id, report: now.answer.report });
    if (performance.now() < now.end) setTimeout(() => go(now), 0);
  }

  function best({ id, size, include, exclude, start, margin }) {
    try {
      send({ id, best: variegate.bestSet(form, size, include, exclude, start, margin) });
    } catch (error) {
      if (!(error instanceof variegate.Impossible)) throw error;
      send({ id, best: [] });
    }
  }

  return (question) => {
    if (question.form) form = variegate.open(question.form);
    else if (question.stop) asked = null;
    else if (question.size !== undefined) best(question);
    else begin(question);
  };
}

if (typeof document === "undefined") {
  const receive = serve((answer) => postMessage(answer));
  onmessage = (event) => receive(event.data);
}
