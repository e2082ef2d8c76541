// Labels: what a person says of a sample or a step. Only where there is a server to keep them.
import { h, icon, replace } from './dom.js';
import { send, served } from './source.js';
import { remember, remembered, report } from './remembered.js';
import { notice } from './copying.js';
import { plural } from './words.js';

export const blind = { on: remembered('blind', false) };

export function labelled(run, key) {
  const mine = run.labels?.[key];
  return Boolean(mine && (mine.label || mine.score != null));
}

function thumbs(mine, save) {
  return [['pass', 'good', 'up', '1'], ['fail', 'bad', 'down', '2']].map(([label, words, sign, key]) => h('button.thumb', {
    type: 'button', class: mine.label === label ? words : '', 'aria-pressed': String(mine.label === label), title: words + ' (key ' + key + ')', onclick: () => save(label),
  }, icon(sign), words));
}

function fields(mine) {
  return {
    score: h('input.short', { type: 'number', step: 'any', placeholder: 'Score', 'aria-label': 'Score', value: mine.score ?? '' }),
    tag: h('input.short', { type: 'text', placeholder: 'Tag', 'aria-label': 'Tag', value: mine.tag || '' }),
    comment: h('input.comment', { type: 'text', placeholder: 'Comment', 'aria-label': 'Comment', value: mine.comment || '' }),
  };
}

function labelForm(mine, about, done) {
  const { score, tag, comment } = fields(mine);
  const state = h('span.quiet', { role: 'status' });
  const save = async (thumb) => {
    const label = { ...about, label: thumb ?? mine.label ?? null, score: score.value === '' ? null : Number(score.value), comment: comment.value, tag: tag.value };
    try {
      done(await send('label', label));
    } catch (error) {
      replace(state, h('span.trouble', {}, error.message));
    }
  };
  const onsubmit = (event) => {
    event.preventDefault();
    save();
  };
  return { onsubmit, parts: [thumbs(mine, save), score, tag, comment, h('button', { type: 'submit' }, 'Keep'), mine.by ? h('span.quiet', {}, 'by ' + mine.by) : null, state] };
}

export function labelBar(run, page, view, again) {
  if (!served || !run.labels) return null;
  const { onsubmit, parts } = labelForm(run.labels[page.key] || {}, { run: run.key, sample: page.key }, (kept) => {
    const hidden = hidesVerdict(run, page);
    run.labels[page.key] = kept;
    const status = view.table.status?.[view.place];
    notice('Label kept' + (hidden && status ? ': it ' + (status === 'passed' ? 'passed' : status === 'failed' ? 'failed' : 'is ' + status) : ''));
    if (report.order?.queue && view.neighbour(1)) return;
    if (report.order?.queue) notice('The queue is done');
    again();
  });
  const others = run.others?.[page.key] || [];
  return h('form.label-bar', { onsubmit }, h('b', {}, 'Your label'), parts,
    h('label.switch', { title: 'Verdicts are hidden until you have labelled the sample' }, h('input', { type: 'checkbox', checked: blind.on, onchange: (event) => {
      blind.on = event.target.checked;
      remember('blind', blind.on);
      again();
    } }), 'blind'),
    queueWords(run, view),
    others.length && !hidesVerdict(run, page) ? h('span.quiet', {}, others.map((each) => each.by + ': ' + (each.label || each.score) + (each.comment ? ' (' + each.comment + ')' : '')).join(', ')) : null);
}

function queueWords(run, view) {
  if (!report.order?.queue || report.order.run !== run.key) return null;
  const { places } = report.order;
  const done = places.filter((place) => labelled(run, view.table.key[place])).length;
  return h('span.queue', {}, h('progress', { max: places.length, value: done, 'aria-label': 'labelled' }), done + ' of ' + plural(places.length, 'sample') + ' labelled');
}

export function hidesVerdict(run, page) {
  return Boolean(served && blind.on && run.labels && !labelled(run, page.key));
}

// Steps

export function labelStep(run) {
  return served && run.labels;
}

export function stepLabel(run, page, head, editing, again) {
  if (!labelStep(run)) return null;
  const all = (run.steps[page.key] ||= {});
  const mine = all[head.ref];
  if (editing) {
    const { onsubmit, parts } = labelForm(mine || {}, { run: run.key, sample: page.key, step: head.ref }, (kept) => {
      all[head.ref] = kept;
      notice('Label kept');
      again();
    });
    return h('form.label-bar', { onsubmit }, h('b', {}, 'Label of this step'), parts);
  }
  if (!mine) return null;
  return h('p.step-label', {}, mine.label ? h('span.badge', { class: mine.label === 'pass' ? 'good' : 'bad' }, mine.label === 'pass' ? 'good' : 'bad') : null, [mine.score, mine.tag, mine.comment].filter((each) => each != null && each !== '').join(' · '), h('span.quiet', {}, 'labelled by ' + mine.by));
}
