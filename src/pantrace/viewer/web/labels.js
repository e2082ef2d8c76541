// Labels: what a person says of a sample or a step. Only where there is a server to keep them.
import { h, icon, replace } from './dom.js';
import { send, served } from './source.js';
import { remember, remembered } from './remembered.js';
import { notice } from './copying.js';

export const blind = { on: remembered('blind', false) };

export function labelBar(run, page, done) {
  if (!served || !run.labels) return null;
  const mine = run.labels[page.key] || {};
  const comment = h('input', { type: 'text', placeholder: 'Comment', 'aria-label': 'Comment', value: mine.comment || '' });
  const tag = h('input.short', { type: 'text', placeholder: 'Tag', 'aria-label': 'Tag', value: mine.tag || '' });
  const grade = h('input.short', { type: 'number', step: 'any', placeholder: 'Score', 'aria-label': 'Score', value: mine.score ?? '' });
  const state = h('span.quiet', { role: 'status' });
  const save = async (thumb) => {
    const label = { run: run.key, sample: page.key, label: thumb ?? mine.label ?? null, score: grade.value === '' ? null : Number(grade.value), comment: comment.value, tag: tag.value };
    try {
      run.labels[page.key] = await send('label', label);
      Object.assign(mine, run.labels[page.key]);
      notice('Label kept');
      done();
    } catch (error) {
      replace(state, h('span.trouble', {}, error.message));
    }
  };
  return h('form.label-bar', { onsubmit: (event) => {
    event.preventDefault();
    save();
  } },
  h('b', {}, 'Your label'),
  h('button.thumb', { type: 'button', class: mine.label === 'pass' ? 'good' : '', 'aria-pressed': String(mine.label === 'pass'), title: 'good (key 1)', onclick: () => save('pass') }, icon('up'), 'good'),
  h('button.thumb', { type: 'button', class: mine.label === 'fail' ? 'bad' : '', 'aria-pressed': String(mine.label === 'fail'), title: 'bad (key 2)', onclick: () => save('fail') }, icon('down'), 'bad'),
  grade, tag, comment, h('button', { type: 'submit' }, 'Keep'),
  h('label.switch', { title: 'Verdicts are hidden until you have labelled the sample' }, h('input', { type: 'checkbox', checked: blind.on, onchange: (event) => {
    blind.on = event.target.checked;
    remember('blind', blind.on);
    done();
  } }), 'blind'),
  mine.by ? h('span.quiet', {}, 'by ' + mine.by) : null, state);
}

export function hidesVerdict(run, page) {
  return Boolean(served && blind.on && run.labels && !run.labels[page.key]?.label && run.labels[page.key]?.score == null);
}
