// Runs a program for WebAssembly in headless Chromium, and prints what it printed: `node browser.mjs PROGRAM ARGS`. The page
// has as much of WASI as a test of Rust asks for: standard output, arguments, and clocks that stand still.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In the page: the program's status, and its output as the page's text. */
async function run(program, args) {
    const NOT_THERE = 52; // ENOSYS of WASI.
    let memory, text = '';
    const numbers = () => new DataView(memory.buffer);
    const bytes = (at, length) => new Uint8Array(memory.buffer, at, length);
    const encoded = args.map((word) => new TextEncoder().encode(word + '\0'));
    const wasi = {
        fd_write(_file, parts, count, written) {
            let length = 0;
            for (let part = parts; part < parts + 8 * count; part += 8) {
                const size = numbers().getUint32(part + 4, true);
                text += new TextDecoder().decode(bytes(numbers().getUint32(part, true), size));
                length += size;
            }
            numbers().setUint32(written, length, true);
            return 0;
        },
        args_sizes_get(count, length) {
            numbers().setUint32(count, encoded.length, true);
            numbers().setUint32(length, encoded.reduce((sum, word) => sum + word.length, 0), true);
            return 0;
        },
        args_get(places, start) {
            encoded.forEach((word, index) => {
                numbers().setUint32(places + 4 * index, start, true);
                bytes(start, word.length).set(word);
                start += word.length;
            });
            return 0;
        },
        environ_sizes_get(count, length) {
            numbers().setUint32(count, 0, true);
            numbers().setUint32(length, 0, true);
            return 0;
        },
        environ_get: () => 0,
        fd_prestat_get: () => 8, // EBADF: there are no folders.
        clock_time_get(_clock, _precision, time) {
            numbers().setBigUint64(time, 0n, true);
            return 0;
        },
        random_get(start, length) {
            crypto.getRandomValues(bytes(start, length));
            return 0;
        },
        proc_exit(status) {
            throw status;
        },
    };
    let status = 0;
    try {
        const code = Uint8Array.from(atob(program), (letter) => letter.charCodeAt(0));
        const module = await WebAssembly.compile(code);
        const names = WebAssembly.Module.imports(module).map(({ name }) => [name, wasi[name] ?? (() => NOT_THERE)]);
        const instance = await WebAssembly.instantiate(module, { wasi_snapshot_preview1: Object.fromEntries(names) });
        memory = instance.exports.memory;
        instance.exports._start();
    } catch (thrown) {
        status = typeof thrown === 'number' ? thrown : 70;
        text += typeof thrown === 'number' ? '' : thrown.stack;
    }
    document.body.textContent = `${text}\nstatus ${status}\n`;
}

const folder = mkdtempSync(join(tmpdir(), 'wellspring-browser-'));
try {
    const page = join(folder, 'page.html');
    const words = [readFileSync(process.argv[2]).toString('base64'), process.argv.slice(2)].map((word) => JSON.stringify(word));
    writeFileSync(page, `<!doctype html><meta charset="utf-8"><body><script>(${run})(${words})</script>`);
    // Chromium's own sandbox does not run as root. The page loads nothing.
    const options = ['--headless', '--no-sandbox', '--disable-gpu', `--user-data-dir=${folder}`, '--virtual-time-budget=600000'];
    const limits = { encoding: 'utf8', maxBuffer: 1 << 26, stdio: ['ignore', 'pipe', 'ignore'], timeout: 300_000 };
    const dumped = execFileSync('chromium', [...options, '--dump-dom', `file://${page}`], limits);
    const text = dumped.slice(dumped.lastIndexOf('<body>') + '<body>'.length, dumped.lastIndexOf('</body>'));
    console.log(text.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&'));
    process.exitCode = Number(/\nstatus (\d+)\n/.exec(text)?.[1] ?? 70);
} finally {
    rmSync(folder, { recursive: true, force: true });
}
