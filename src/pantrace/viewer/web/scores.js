// Scores: the number, its place on its scale, why, and the steps it rests on.
import { h, replace } from './dom.js';
import { text, value } from './texts.js';
import { number } from './words.js';

const MAKERS = { stored: 'from the recording', check: 'metric' };
const REASONS = { not_applicable: 'does not apply', failed: 'could not be measured', unscored: 'not scored' };

export function verdictClass(score) {
  if (score.status !== 'scored') return 'none';
  if (score.passed != null) return score.passed ? 'good' : 'bad';
  if (score.value === true || score.value === 'C') return 'good';
  if (score.value === false || score.value === 'I') return 'bad';
  return '';
}

export function scoreBadge(score, onclick) {
  const shown = score.status === 'scored' ? number(score.value) : REASONS[score.status];
  return h('button.score', { type: 'button', class: verdictClass(score), title: typeof score.explanation === 'string' ? score.explanation.slice(0, 300) : score.name, onclick },
    h('span.name', {}, score.name), h('b', {}, shown));
}

function scaleBar(score) {
  const { low, high } = score.scale || {};
  if (typeof score.value !== 'number' || low == null || high == null || !(high > low)) return null;
  const share = Math.max(0, Math.min(1, (score.value - low) / (high - low)));
  const bar = h('span.scale', { role: 'img', 'aria-label': number(score.value) + ' on a scale from ' + low + ' to ' + high }, h('span.filled', { style: { width: share * 100 + '%' } }));
  if (score.threshold != null) bar.append(h('span.threshold', { title: 'threshold ' + score.threshold, style: { left: Math.max(0, Math.min(1, (score.threshold - low) / (high - low))) * 100 + '%' } }));
  return bar;
}

export function scoreList(page, go) {
  const judged = page.scores.filter((score) => score.status === 'scored');
  const others = page.scores.filter((score) => score.status !== 'scored');
  const box = h('div.scores');
  const draw = () => {
    if (!page.scores.length && !page.decisions?.length) replace(box, h('p.quiet', {}, 'This sample has no scores.'));
    else replace(box, (page.decisions || []).map(decision), judged.map((score) => card(score, go)),
      others.length ? h('details', {}, h('summary', {}, others.length + ' without a value'), others.map((score) => card(score, go))) : null);
  };
  draw();
  return box;
}

function decision(each) {
  const state = each.passed === true ? 'passed' : each.passed === false ? 'failed' : 'undecided';
  return h('section.score-card', { class: state }, h('h3', {}, h('span.status', { class: state }, state), ' by profile ', each.profile,
    each.composite != null ? h('span.quiet', {}, ' · composite ' + number(each.composite)) : null),
  (each.reasons || []).length ? h('ul', {}, each.reasons.map((reason) => h('li', {}, reason))) : null);
}

function card(score, go) {
  const maker = score.maker ? [MAKERS[score.maker.kind] || score.maker.kind, score.maker.model, score.maker.version && 'version ' + score.maker.version].filter(Boolean).join(' · ') : 'from the recording';
  const others = Object.entries(score.values || {});
  const rows = score.rows || [];
  return h('section.score-card', { class: verdictClass(score) },
    h('h3', {}, h('span.name', {}, score.name), h('b.value', {}, score.status === 'scored' ? number(score.value) : REASONS[score.status]), scaleBar(score), h('span.grow'), h('span.quiet', {}, maker)),
    score.explanation ? text(score.explanation, { prose: true }) : null,
    rows.length ? h('p.evidence', {}, 'Evidence: ', rows.slice(0, 40).map((place) => [h('button.link', { type: 'button', onclick: () => go(place) }, 'step ' + (place + 1)), ' ']), rows.length > 40 ? 'and ' + (rows.length - 40) + ' more' : null) : null,
    score.gone?.length ? h('p.quiet', {}, 'Names steps that this recording does not have: ' + score.gone.slice(0, 5).join(', ')) : null,
    others.length ? h('dl.values', {}, others.map(([name, each]) => h('div', {}, h('dt', {}, name), h('dd', { title: each == null ? 'does not apply' : null }, each == null ? '–' : number(each))))) : null,
    score.details && Object.keys(score.details).length ? h('details', {}, h('summary', {}, 'Details'), value(score.details, { open: 1 })) : null);
}
