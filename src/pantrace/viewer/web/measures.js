// The measures of a run: a card for each metric, with its number, its spread, and why some samples have none.
import { h, replace } from './dom.js';
import { histogram, intervalBar } from './charts.js';
import { count, inUnit, number, plural } from './words.js';

const AT_FIRST = 5;
const WITHOUT = { not_applicable: 'does not apply to', unscored: 'not scored:', failed: 'could not be measured:' };

// pick(name, bar) shows the samples behind a bar of a histogram.
export function measureCards(run, table, pick) {
  const known = new Map(run.measures.map((each) => [each.name, each]));
  const names = [...new Set([...known.keys(), ...Object.keys(table.scores), ...(table.empty || [])])];
  if (!names.length) return h('p.nothing-here', {}, 'No scores yet. `pantrace eval` measures a recording; `pantrace judge` grades it.');
  const metrics = new Map();
  for (const name of names) {
    const metric = metricOf(run, name);
    metrics.set(metric, [...(metrics.get(metric) || []), name]);
  }
  const hasValue = ([, all]) => all.some((name) => known.get(name)?.value != null || table.scores[name]);
  const filled = [...metrics].filter(hasValue);
  const empty = [...metrics].filter((each) => !hasValue(each));
  const card = ([metric, all]) => metricCard(metric, all, run, table, known, pick);
  return [h('div.measures', {}, filled.map(card)),
    empty.length ? [h('h2', {}, 'Without any value'), h('div.measures.empty', {}, empty.map(card))] : null];
}

// token_usage.total_tokens is a measure of token_usage.
function metricOf(run, name) {
  if (run.scored[name]) return name;
  const before = name.slice(0, name.lastIndexOf('.'));
  return run.scored[before] ? before : name;
}

function metricCard(metric, names, run, table, known, pick) {
  const worth = (name) => (known.get(name)?.value != null ? 2 : 0) + (known.get(name)?.headline !== false ? 1 : 0);
  const order = [...names].sort((one, two) => worth(two) - worth(one));
  const main = h('div.main');
  const rows = h('div.others');
  const choose = (name) => {
    replace(main, mainPart(metric, name, known.get(name) || { name }, table.scores[name] || [], pick));
    const line = (each) => h('button', { type: 'button', 'aria-pressed': String(each === name), onclick: () => choose(each) },
      h('span', {}, shortName(metric, each)), h('b', {}, known.get(each)?.value == null ? '–' : inUnit(known.get(each).value, known.get(each).unit)));
    const first = order.filter((each, place) => place < AT_FIRST || each === name);
    const rest = order.filter((each) => !first.includes(each));
    replace(rows, order.length > 1 ? first.map(line) : null, rest.length ? h('details', {}, h('summary.quiet', {}, plural(rest.length, 'more measure')), rest.map(line)) : null);
  };
  choose(order[0]);
  return h('section.measure', {}, h('h3', {}, metric), main, rows, without(metric, run, table));
}

function shortName(metric, name) {
  return name === metric ? 'value' : name.slice(metric.length + 1);
}

function mainPart(metric, name, measure, values, pick) {
  const numbers = values.filter((each) => each !== null);
  return [
    name === metric ? null : h('p.quiet', {}, shortName(metric, name)),
    h('div.number-line', {}, h('b', {}, measure.value == null ? (numbers.length ? '' : 'no value') : inUnit(measure.value, measure.unit)),
      measure.low != null ? h('span.quiet', { title: '95 % interval, ' + measure.method }, inUnit(measure.low, measure.unit) + ' to ' + inUnit(measure.high, measure.unit)) : null),
    intervalBar(measure),
    numbers.length ? histogram(numbers, (bar) => pick(name, bar)) : null,
    numbers.length ? h('p.quiet', {}, [plural(numbers.length, 'sample'), measure.better && measure.better + ' is better'].filter(Boolean).join(' · ')) : null,
    measure.why ? h('p.quiet', {}, measure.why) : null,
  ];
}

function without(metric, run, table) {
  const counts = run.scored[metric] || {};
  return Object.entries(WITHOUT).filter(([status]) => counts[status]).map(([status, words]) => {
    const reasons = (table.whys?.[metric] || []).filter(([each, why]) => each === status && why);
    const line = words + ' ' + count(counts[status]);
    if (!reasons.length) return h('p.quiet', {}, line);
    if (reasons.length === 1 && reasons[0][2] === counts[status]) return h('p.quiet', {}, line + ': ' + reasons[0][1]);
    return h('details.whys', {}, h('summary', {}, line), h('ul', {}, reasons.map(([, why, times]) => h('li', {}, count(times) + ' × ' + why))));
  });
}
