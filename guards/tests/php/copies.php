<?php
// Warms up every generator, makes two copies of the process, changes the page, and prints what each copy draws.
[, $page, $how, $file] = $argv;
require $file;
if ($how === 'seeded') {
    mt_srand(2026);
}
$guard = $how === 'alone' ? null : new Wellspring\CloneGuard($page, hasSeed: $how === 'seeded');
$engines = [];
if (PHP_VERSION_ID >= 80200) {
    foreach (['Mt19937', 'PcgOneseq128XslRr64', 'Xoshiro256StarStar'] as $name) {
        $class = "Random\\Engine\\$name";
        $engines[$name] = new Random\Randomizer($engine = new $class());
        $engines["kept $name"] = new Random\Randomizer(new $class(2026));
        $guard?->register($engine);
    }
}

function draw(array $engines): array
{
    $order = range(1, 1000);
    shuffle($order);
    $values = [
        'mt_rand' => mt_rand(),
        'rand' => rand(),
        'shuffle' => array_slice($order, 0, 5),
        'str_shuffle' => str_shuffle('abcdefghijklmnopqrstuvwxyz'),
        'array_rand' => array_rand($order, 5),
        'lcg_value' => lcg_value(),
    ];
    return $values + array_map(fn ($engine) => $engine->getInt(0, PHP_INT_MAX >> 1), $engines);
}

draw($engines);
rmdir('/copies');
if ($guard) {
    $opened = fopen($page, 'r+b');
    fseek($opened, 104);
    // The copies are made before the change, so that the second finds the number of the first.
    fwrite($opened, random_bytes(8));
    fclose($opened);
    $guard->check() || exit(1);
}
fwrite(STDOUT, json_encode(draw($engines)) . "\n");
rmdir('/end');
