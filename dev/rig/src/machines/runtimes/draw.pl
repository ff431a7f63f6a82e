# Answers each line with a number.
$| = 1;
rand;
while (<STDIN>) { printf "rand=%.17g\n", rand }
