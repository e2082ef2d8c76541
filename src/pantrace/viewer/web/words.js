// Numbers and times as people read them. Nothing that was not reported is ever shown as zero.

export function count(number) {
  if (number == null) return '';
  // By hand: the browser's own way loads its tables of all languages first.
  const [whole, rest] = String(number).split('.');
  return /e/.test(whole) ? String(number) : whole.replace(/\B(?=(\d{3})+$)/g, ',') + (rest ? '.' + rest.slice(0, 3) : '');
}

export function compact(number) {
  if (number == null) return '';
  if (Math.abs(number) < 1e4) return count(Math.round(number));
  for (const [size, unit] of [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']]) {
    if (Math.abs(number) >= size) return (number / size).toFixed(number / size < 10 ? 1 : 0) + unit;
  }
  return String(number);
}

export function plural(number, word, many) {
  return count(number) + ' ' + (number === 1 ? word : many || word + 's');
}

export function duration(seconds) {
  if (seconds == null) return '';
  if (seconds === 0) return '0 s';
  if (seconds < 0.0005) return '< 1 ms';
  if (seconds < 1) return Math.round(seconds * 1000) + ' ms';
  if (seconds < 60) return seconds.toFixed(seconds < 10 ? 1 : 0) + ' s';
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ' + String(Math.round(seconds % 60)).padStart(2, '0') + ' s';
  if (seconds < 172800) return Math.floor(seconds / 3600) + ' h ' + String(Math.round((seconds % 3600) / 60)).padStart(2, '0') + ' min';
  return Math.round(seconds / 86400) + ' days';
}

export function bytes(number) {
  if (number < 1000) return number + ' bytes';
  if (number < 1e6) return (number / 1e3).toFixed(0) + ' kB';
  return (number / 1e6).toFixed(1) + ' MB';
}

// ≈: nothing was reported, so it is what the tokens cost by the price table.
export function money(amount, estimated) {
  if (amount == null) return '';
  if (amount === 0) return '$0';
  return (estimated ? '≈ ' : '') + '$' + (amount < 0.01 ? amount.toPrecision(2) : amount < 100 ? amount.toFixed(2) : count(Math.round(amount)));
}

export const ESTIMATED = ', estimated: no cost was reported, this is what the tokens cost by the price table';

export function when(seconds) {
  if (seconds == null) return '';
  const date = new Date(seconds * 1000);
  return isNaN(date) ? '' : date.toISOString().slice(0, 16).replace('T', ' ');
}

export function clock(seconds) {
  const date = new Date(seconds * 1000);
  return isNaN(date) ? '' : date.toISOString().slice(11, 19);
}

export function number(value) {
  if (value === true) return 'yes';
  if (value === false) return 'no';
  if (value == null) return '';
  if (typeof value !== 'number') return String(value);
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  return size >= 1000 ? count(Math.round(value)) : size >= 1 ? String(+value.toFixed(2)) : String(+value.toPrecision(3));
}

// A measure in its unit.
export function inUnit(value, unit) {
  if (typeof value !== 'number') return number(value);
  if (unit === 'USD') return money(value);
  if (unit === 's') return duration(value);
  if (unit === 'share') return (Math.round(value * 1000) / 10) + ' %';
  if (unit === 'tokens') return compact(value) + ' tokens';
  return number(value);
}

export function percent(share) {
  return (share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0) + ' %';
}

export const STATUS_WORDS = {
  passed: 'passed', failed: 'failed', undecided: 'undecided', error: 'error', cancelled: 'cancelled', limit: 'limit reached',
  unscored: 'not scored', none: 'no outcome',
};
