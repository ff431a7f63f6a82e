'use strict';
// Gives the generators of a Node program new state when its machine was cloned or restored.
//
//     node --require /usr/local/lib/wellspring/guards/clone_guard.js program.js
//     NODE_OPTIONS='--require /usr/local/lib/wellspring/guards/clone_guard.js'      for every program, and its workers
//
// A Node program can neither map a file nor wait for a futex. So the guard reads the number of the generation page
// (clones/generation-page.md of the project): at a `Math.random`, at most once in a millisecond, and by a timer every 10 ms for
// what has no draw that could be watched. A look opens the page, reads it and closes it: no descriptor stays open, and
// whatever fails counts as no page. The timer does not keep a program alive. After a change, in this order:
//
// - OpenSSL takes 256 bits from wellspring, by libwellspring-preload.so one folder above this file: `crypto`, TLS, keys;
// - what `crypto` has ready, 128 identifiers for `randomUUID` and 1024 numbers for `randomInt`, is drawn and discarded;
// - so are the pools of `nanoid` and `uuid`, and of what the program has given to `register`;
// - `Math.random` draws on AES-256 with a new key from then on: nothing can reach the state of V8's own generator.
//
// A `Math.random` with a seed keeps its sequence: with --random-seed, or when the program has put a function of its own
// in its place. The guard replaces `Math.random` when it is loaded. Other realms (`vm.createContext`) have their own.

const crypto = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');
const { pathToFileURL } = require('node:url');

const PAGE = process.env.WELLSPRING_PAGE ?? '/run/wellspring/generation';
const LIBRARY = process.env.WELLSPRING_PRELOAD ?? path.join(__dirname, '..', 'libwellspring-preload.so');
const PAGE_BYTES = 4096;
const COUNTER = 104;
// The number for which the kernel took new keys, or its inverse if it could not: 0 where the writer does not say it.
const KERNEL = 2048;
const KERNEL_WAIT_MS = 100;
const LOOK_MS = 10;
// Where there is no page, one look of the timer in this many opens the path.
const LOOKS_WITHOUT_PAGE = 100;
// Numbers that `Math.random` has ready after a notice.
const POOL = 1024;

// The program may replace these later, as tests do.
const { closeSync, constants, fstatSync, openSync, readSync, statSync, writeSync } = fs;
const { now } = Date;

let hasPage = false;
let looks = 0;
let handled = 0n;

function say(text) {
  try {
    writeSync(2, `wellspring clone_guard.js: ${text}\n`);
  } catch {
    // The program has closed it.
  }
}

// Returns the number of the page, and whether the kernel took new keys for it or could not, if this process may believe its
// file.
function readPage() {
  let file;
  try {
    if (statSync(PAGE, { throwIfNoEntry: false }) === undefined) return undefined;
    file = openSync(PAGE, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const status = fstatSync(file);
    const head = Buffer.alloc(KERNEL + 8);
    const isSafe = [0, process.geteuid()].includes(status.uid) && (status.mode & 0o022) === 0;
    const isPage = status.isFile() && status.size === PAGE_BYTES && readSync(file, head, 0, head.length, 0) === head.length
      && head.toString('latin1', 0, 4) === 'VCLK' && head.readUInt32LE(4) >= COUNTER + 8 && head.readUInt16LE(8) === 1
      && (head[25] & 1) === 1;
    if (!isSafe || !isPage) return undefined;
    const [number, kernel] = [head.readBigUInt64LE(COUNTER), head.readBigUInt64LE(KERNEL)];
    return { number, isKernelDone: [0n, number, BigInt.asUintN(64, ~number)].includes(kernel) };
  } catch {
    return undefined;
  } finally {
    try {
      if (file !== undefined) closeSync(file);
    } catch {
      // Another thread of the program closed it.
    }
  }
}

// Math.random: V8's own generator until a notice, a pool after it.
const native = Math.random;
const words = new Uint32Array(2 * POOL);
const pool = new Float64Array(POOL);
let next = POOL;
let cipher;

function pooled() {
  if (next === POOL) {
    cipher.update(new Uint8Array(words.buffer)).copy(new Uint8Array(words.buffer));
    for (let i = 0; i < POOL; i++) pool[i] = ((words[2 * i] >>> 5) * 0x4000000 + (words[2 * i + 1] >>> 6)) / 2 ** 53;
    next = 0;
  }
  return pool[next++];
}

let draw = native;
let lastMs = 0;
const hasSeed = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].some((word) => /--random[-_]seed/.test(word));
const watched = {
  random() {
    if (hasPage) {
      const ms = now();
      if (ms !== lastMs) {
        lastMs = ms;
        check();
      }
    }
    return draw();
  },
};
try {
  if (!hasSeed) Math.random = watched.random;
} catch (error) {
  say(`Math.random cannot be replaced, and repeats what a copy returns: ${error.message}`);
}

// Waits until the page says that the kernel took new keys for its number, or could not.
function awaitKernel() {
  const last = performance.now() + KERNEL_WAIT_MS;
  const never = new Int32Array(new SharedArrayBuffer(4));
  while (readPage()?.isKernelDone === false && performance.now() < last) Atomics.wait(never, 0, 0, 1);
}

// The kernel's bytes, which took new keys before; OpenSSL's, with 256 bits of the engine; and the clocks.
function fresh() {
  const seed = Buffer.alloc(32);
  try {
    const urandom = openSync('/dev/urandom', 'r');
    readSync(urandom, seed, 0, 32, null);
    closeSync(urandom);
  } catch {
    // No descriptor is left, or no /dev: the others remain.
  }
  const clocks = `${process.hrtime.bigint()} ${Date.now()} ${performance.now()}`;
  return crypto.createHash('sha512').update(seed).update(crypto.randomBytes(32)).update(clocks).digest();
}

function healMath() {
  const seed = fresh();
  cipher = crypto.createCipheriv('aes-256-ctr', seed.subarray(0, 32), seed.subarray(32, 48));
  next = POOL;
  draw = pooled;
}

// The entry point of a module in the library mixes 256 bits into OpenSSL. Node calls it each time.
function healOpenssl() {
  try {
    process.dlopen({ exports: {} }, LIBRARY);
    return true;
  } catch {
    return false;
  }
}

function drainCrypto() {
  for (let i = 0; i < 128; i++) crypto.randomUUID();
  for (let i = 0; i < 1024; i++) crypto.randomInt(2);
}

// `random(1)` of nanoid is a view of its pool. A view further in front belongs to a new filling.
function drainNanoid(random) {
  let last = -1;
  for (let place = random(1).byteOffset; place > last; place = random(1).byteOffset) last = place;
}

// With an argument `v4` of uuid draws on a pool of 16, else on crypto.randomUUID.
function drainUuid(v4) {
  for (let i = 0; i < 17; i++) v4({});
}

function drainModule(exports) {
  if (typeof exports?.nanoid === 'function' && typeof exports.random === 'function') drainNanoid(exports.random);
  else if (typeof exports?.v4 === 'function' && typeof exports.validate === 'function') drainUuid(exports.v4);
}

const POOLED = /\/node_modules\/(nanoid|uuid)\//;
const registered = [];

async function drainImported() {
  for (const name of ['nanoid', 'uuid']) {
    try {
      const from = createRequire(path.resolve(process.argv[1] ?? '-'));
      drainModule(await import(pathToFileURL(from.resolve(name))));
    } catch {
      // The program does not have it.
    }
  }
}

// The library is loaded here once, and quickly found at a notice.
const state = { notices: 0, lastMs: 0, openssl: healOpenssl() };

function heal() {
  const began = performance.now();
  awaitKernel();
  state.openssl = healOpenssl();
  const actions = [drainCrypto, ...registered];
  if (!hasSeed) actions.unshift(healMath);
  for (const [name, module] of Object.entries(require.cache)) {
    if (POOLED.test(name)) actions.push(() => drainModule(module.exports));
  }
  for (const action of actions) {
    try {
      action();
    } catch (error) {
      // One generator must not keep the others as they were.
      say(error?.message);
    }
  }
  state.notices += 1;
  state.lastMs = performance.now() - began;
  return drainImported();
}

// Looks for a change now, and heals. Returns whether there was one. Programs may call it after they resumed.
function check() {
  const number = readPage()?.number;
  hasPage = number !== undefined;
  // The state of this process is older than a page that came later.
  if (looks === 0) handled = number ?? 0n;
  looks += 1;
  if (!hasPage || number === handled) return false;
  handled = number;
  heal();
  return true;
}

let ticks = 0;
function tick() {
  ticks += 1;
  if (hasPage || ticks % LOOKS_WITHOUT_PAGE === 0) check();
}

// A function that the program wants called at a notice. It may empty a pool of its own.
function register(action) {
  if (typeof action !== 'function') throw new TypeError('register takes a function');
  registered.push(action);
}

if (!state.openssl) say(`${LIBRARY} cannot be loaded: node:crypto repeats what a copy returns`);
check();
setInterval(tick, LOOK_MS).unref();

module.exports = {
  check,
  heal,
  register,
  status: () => ({ page: hasPage, ...state }),
};
