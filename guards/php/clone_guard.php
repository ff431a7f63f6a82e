<?php
/**
 * Gives the generators of a PHP program new state when its machine was cloned or restored.
 *
 * For programs that run for long: workers of queues, servers in PHP. PHP has no thread and no timer, so the program looks by
 * itself before each of its tasks:
 *
 *     require '/usr/local/lib/wellspring/guards/clone_guard.php';
 *     $guard = new Wellspring\CloneGuard();
 *     while ($task = next_task()) { $guard->check(); ... }
 *
 * If the generation page (docs/generation-page.md of the project) has changed, `mt_rand`, `rand`, `shuffle`, `str_shuffle` and
 * `array_rand` get a new seed, and what was given to `register` gets new state. PHP does not tell if the program has
 * called `mt_srand`: one that has says `new CloneGuard(hasSeed: true)`, and `mt_rand` goes on with its sequence.
 *
 * Requests of FPM and of a web server need no guard: PHP seeds `mt_rand` anew in each. `random_int` and `random_bytes` are
 * the kernel's.
 */

declare(strict_types=1);

namespace Wellspring;

final class CloneGuard
{
    public const DEFAULT_PAGE = '/run/wellspring/generation';
    private const PAGE_BYTES = 4096;
    private const COUNTER = 104;

    private ?string $handled;
    private int $notices = 0;
    private float $lastMs = 0.0;
    /** @var list<object|callable> */
    private array $registered = [];

    public function __construct(private ?string $page = null, private bool $hasSeed = false)
    {
        $this->page ??= getenv('WELLSPRING_PAGE') ?: self::DEFAULT_PAGE;
        $this->handled = $this->number();
    }

    /** Looks for a change now, and heals. Returns whether there was one. A page that appears is one, too. */
    public function check(): bool
    {
        $number = $this->number();
        if ($number === null || $number === $this->handled) {
            return false;
        }
        $this->handled = $number;
        $this->heal();
        return true;
    }

    /** Does what a notice does. */
    public function heal(): void
    {
        $began = hrtime(true);
        if (!$this->hasSeed) {
            mt_srand(unpack('l', self::fresh())[1]);
        }
        foreach ($this->registered as $one) {
            try {
                is_callable($one) ? $one() : self::reseed($one);
            } catch (\Throwable $error) {
                // One generator must not keep the others as they were.
                trigger_error((string) $error, E_USER_WARNING);
            }
        }
        $this->notices++;
        $this->lastMs = (hrtime(true) - $began) / 1e6;
    }

    /**
     * Takes an engine of PHP 8.2 (`Random\Engine\Mt19937`, `PcgOneseq128XslRr64`, `Xoshiro256StarStar`) whose numbers need
     * not repeat, whatever seed it had, or a function that is called at a notice.
     */
    public function register(object|callable $one): void
    {
        $this->registered[] = $one;
    }

    /** @return array{page: bool, notices: int, lastMs: float} */
    public function status(): array
    {
        return ['page' => $this->number() !== null, 'notices' => $this->notices, 'lastMs' => $this->lastMs];
    }

    /** The kernel's bytes, which vmgenid has changed, and the clocks, for copies whose kernel had no notice. */
    private static function fresh(): string
    {
        return hash('sha256', random_bytes(32) . hrtime(true) . microtime(), true);
    }

    /** Gives an engine the state of a new one. */
    private static function reseed(object $engine): void
    {
        $seed = self::fresh();
        $new = match ($engine::class) {
            \Random\Engine\Mt19937::class => new \Random\Engine\Mt19937(unpack('l', $seed)[1]),
            \Random\Engine\PcgOneseq128XslRr64::class => new \Random\Engine\PcgOneseq128XslRr64(substr($seed, 0, 16)),
            \Random\Engine\Xoshiro256StarStar::class => new \Random\Engine\Xoshiro256StarStar($seed),
            default => throw new \InvalidArgumentException('not an engine: ' . $engine::class),
        };
        $engine->__unserialize($new->__serialize());
    }

    /** The number of the page, if this process may believe it. */
    private function number(): ?string
    {
        clearstatcache(true, $this->page);
        $status = @lstat($this->page);
        $isFile = $status && ($status['mode'] & 0170000) === 0100000 && $status['size'] === self::PAGE_BYTES;
        $user = function_exists('posix_geteuid') ? posix_geteuid() : 0;
        if (!$isFile || ($status['mode'] & 022) !== 0 || !in_array($status['uid'], [0, $user], true)) {
            return null;
        }
        $content = @file_get_contents($this->page, length: self::PAGE_BYTES);
        if ($content === false || strlen($content) !== self::PAGE_BYTES) {
            return null;
        }
        ['magic' => $magic, 'size' => $size, 'version' => $version, 'flags' => $flags]
            = unpack('a4magic/Vsize/vversion/x14/Vflags', $content);
        $isPage = $magic === 'VCLK' && $size >= self::COUNTER + 8 && $version === 1 && ($flags & 1 << 8) !== 0;
        return $isPage ? substr($content, self::COUNTER, 8) : null;
    }
}
