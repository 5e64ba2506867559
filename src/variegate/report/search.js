"use strict";
// The most probable set of a given size: a greedy set and the current set, each improved by exchanges.

{
  const BETTER = 1e-9; // nats; less is rounding error

  function grown(form, { include, exclude, size }, from) {
    // as large as possible, if the size is too large
    const state = new variegate.State(form, include, exclude);
    for (const m of from) if (state.movable[m] && state.order.length < size && state.fits(m)) state.add(m);
    while (state.order.length < size) {
      const m = state.bestAddition();
      if (m < 0) break;
      state.add(m);
    }
    return state;
  }

  function exchanged(state) {
    // member by member, until no exchange improves the set
    for (let better = true; better; ) {
      better = false;
      for (const m of state.order.filter((h) => state.movable[h])) {
        const come = state.bestAddition(m);
        if (come < 0 || come === m || !(state.logOdds[come] > state.logOdds[m] + BETTER)) continue;
        state.remove(m);
        state.add(come);
        better = true;
      }
      state.rebuild();
    }
    return state;
  }

  // The current set, `start`, stays unless another one is better by more than `margin`.
  variegate.bestSet = (whole, question) => {
    const form = variegate.formWithout(whole, question.exclude);
    const { size, start, margin } = question;
    const states = [exchanged(grown(form, question, []))];
    let kept = { value: -Infinity };
    if (start.length === size) {
      const atHand = grown(form, question, start);
      if (start.every((m) => atHand.inside[m])) kept = { value: atHand.logJoint() + margin, set: [...atHand.order] };
      states.push(exchanged(atHand));
    }
    const found = states.map((state) => ({ value: state.logJoint(), set: state.order }));
    return [kept, ...found].reduce((a, b) => (b.value > a.value ? b : a)).set.sort((a, b) => a - b);
  };
}
