<?php
// Answers each line with a number of every kind. The guard is the first argument, if there is one.
if (isset($argv[1])) {
    require $argv[1];
    $guard = new Wellspring\CloneGuard();
}
$engine = new Random\Engine\Xoshiro256StarStar();
$randomizer = new Random\Randomizer($engine);
if (isset($guard)) {
    $guard->register($engine);
}
$draw = fn () => 'mt_rand=' . mt_rand() . mt_rand() . ' Xoshiro256StarStar=' . $randomizer->getInt(0, PHP_INT_MAX >> 1);
$draw();
while (fgets(STDIN) !== false) {
    if (isset($guard)) {
        $guard->check();
    }
    echo $draw(), "\n";
}
