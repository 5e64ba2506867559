"use strict";
// One chain of the explorer, in a worker or in the page: it works on the last question until another one comes.

variegate.serve = (send) => {
  const SLICE = 20; // milliseconds between checks for new questions: first answers come within three of them
  const WARM = 150; // milliseconds of a first, unasked question, after which the code is compiled
  let form = null;
  let asked = null;

  function begin(question) {
    asked = { id: question.id, end: performance.now() + question.milliseconds };
    try {
      asked.answer = new variegate.Answer(form, question);
      go(asked);
    } catch (error) {
      if (!(error instanceof variegate.Impossible)) throw error;
      if (question.id !== null) send({ id: question.id, impossible: error.reason, feature: error.feature });
      asked = null;
    }
  }

  function go(now) {
    if (asked !== now) return;
    now.answer.run(SLICE);
    if (now.id !== null) send({ id: now.id, report: now.answer.report });
    if (performance.now() < now.end) setTimeout(() => go(now), 0);
  }

  function best(question) {
    try {
      send({ id: question.id, best: variegate.bestSet(form, question) });
    } catch (error) {
      if (!(error instanceof variegate.Impossible)) throw error;
      send({ id: question.id, best: [] });
    }
  }

  return (question) => {
    if (question.form) {
      form = variegate.open(question.form);
      begin({ id: null, milliseconds: WARM, include: [], exclude: [], start: question.form.probable });
    } else if (question.stop) asked = null;
    else if (question.size !== undefined) best(question);
    else begin(question);
  };
};

if (typeof document === "undefined") {
  const receive = variegate.serve((answer) => postMessage(answer));
  onmessage = (event) => receive(event.data);
}
