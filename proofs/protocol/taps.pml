/*
 * P3: one thread with a tap and a node. At any step of a read a signal handler may fork, or the machine may be
 * copied. Two processes or machines: 0, and its copy 1.
 *
 * A value is (key, position); a key is (node state, how many keys it gave). Two states of a node
 * that are equal give equal keys: so a copy repeats its original until it diverges.
 * Claim: no value is returned twice, none is returned from wiped memory.
 */
#define READS 3		/* of each process */
#define BUFFER 2	/* values under a key */
#define KEYS 5		/* of each node state; reached never: asserted */
#define NODES 6
#define WIPED 0

#define VALUE(key, position) ((key) * BUFFER + (position))

mtype = { IDLE, CHECK, COUNT, COPY, SERIAL, WORD, REKEY, STIR, BUMP, HANDLED };

typedef process {
	bool alive;
	mtype at;			/* the program counter of the read */
	byte reads;
	/* registers of the read */
	byte r_generation, r_serial, r_position, r_word, r_value;
	bool late;			/* the read ended, for a fork, before this copy was made */
	/* secret memory: a fork wipes it */
	byte tap_generation, tap_key, tap_position, serial;
	byte node, draws;
	/* ordinary memory: a fork copies it */
	byte generation, next_serial, handled;
	/* of the machine */
	byte word;
};

process p[2];
byte returned[(NODES + 1) * KEYS * BUFFER];
byte next_node = 2;			/* what makes two nodes differ: entropy, never equal */
byte next_word = 1;
bool forked, copied;

/* A new key for the tap. Signals are blocked: it is one step for a handler. */
inline rekey(i) {
	assert(p[i].draws < KEYS);
	p[i].tap_key = p[i].node * KEYS + p[i].draws;
	p[i].draws++;
	p[i].tap_position = 0;
	p[i].tap_generation = p[i].r_generation;
	if
	:: p[i].serial == WIPED ->	/* a slot that is taken anew */
		p[i].next_serial++;
		p[i].serial = p[i].next_serial;
	:: else
	fi
}

inline give(i) {
	assert(p[i].r_value != WIPED);
	if
	:: p[i].late -> p[i].late = false
	:: else ->
		returned[p[i].r_value]++;
		assert(returned[p[i].r_value] == 1)
	fi;
	p[i].r_value = WIPED;
	p[i].reads++;
	p[i].at = IDLE
}

inline step(i) {
	if
	:: p[i].at == IDLE && p[i].reads < READS -> p[i].at = CHECK
	/* The tap is of the generation, and has bytes. */
	:: p[i].at == CHECK ->
		if
		:: p[i].tap_generation == p[i].generation && p[i].tap_position < BUFFER ->
			p[i].r_serial = p[i].serial;
			p[i].at = COUNT
		:: else ->
			p[i].r_generation = p[i].generation;
			p[i].at = REKEY
		fi
	:: p[i].at == REKEY -> rekey(i); p[i].at = CHECK
	/* "A tap counts bytes as handed out before it copies and erases them." */
	:: p[i].at == COUNT ->
		p[i].r_position = p[i].tap_position;
		p[i].tap_position++;
		p[i].at = COPY
	:: p[i].at == COPY ->
		if
		:: p[i].tap_key == WIPED -> p[i].r_value = WIPED
		:: else -> p[i].r_value = VALUE(p[i].tap_key, p[i].r_position)
		fi;
		p[i].at = SERIAL
	/* The last look at what a fork wipes. */
	:: p[i].at == SERIAL ->
		if
		:: p[i].r_serial != p[i].serial -> p[i].at = CHECK
		:: else -> p[i].at = WORD
		fi
	/* The last look at all: the watched words. Then the value is the caller's. */
	:: p[i].at == WORD ->
		if
		:: p[i].word != p[i].handled -> p[i].at = STIR
		:: else -> give(i)
		fi
	/* EngineInner::diverge(): every node, the generation, then "handled". */
	:: p[i].at == STIR ->
		p[i].r_word = p[i].word;
		p[i].node = next_node; next_node++; p[i].draws = 0;
		p[i].late = false;	/* what it made before is thrown away */
		p[i].at = BUMP
	:: p[i].at == BUMP ->
		p[i].generation++;
		p[i].at = HANDLED
	:: p[i].at == HANDLED -> p[i].handled = p[i].r_word; p[i].at = CHECK
	fi
}

inline copy_process() {
	p[1].alive = true; p[1].at = p[0].at; p[1].reads = p[0].reads;
	p[1].r_generation = p[0].r_generation; p[1].r_serial = p[0].r_serial;
	p[1].r_position = p[0].r_position; p[1].r_word = p[0].r_word; p[1].r_value = p[0].r_value;
	p[1].tap_generation = p[0].tap_generation; p[1].tap_key = p[0].tap_key;
	p[1].tap_position = p[0].tap_position; p[1].serial = p[0].serial;
	p[1].node = p[0].node; p[1].draws = p[0].draws;
	p[1].generation = p[0].generation; p[1].next_serial = p[0].next_serial;
	p[1].handled = p[0].handled; p[1].word = p[0].word
}

/* In a signal handler of the thread that reads, between any two steps. */
inline fork_now() {
	copy_process();
	/* A fork behind the last look is one after the read. */
	p[1].late = (p[0].at == WORD);
	p[1].tap_generation = WIPED; p[1].tap_key = WIPED; p[1].tap_position = 0; p[1].serial = WIPED;
	p[1].node = next_node; next_node++; p[1].draws = 0;	/* the child seeds itself */
	/* The child's handler may draw before it returns to the copied read. */
	if
	:: true
	:: p[1].at != REKEY ->
		byte kept = p[1].r_generation;
		p[1].r_generation = p[1].generation;
		rekey(1);
		p[1].r_generation = kept;
		kept = 0
	fi;
	forked = true
}

/* A copy of the machine, which is told by its word at the same moment. */
inline copy_now() {
	copy_process();
	p[1].late = false;
	p[1].word = next_word; next_word++;
	/* The original is told too, or not. */
	if
	:: true
	:: p[0].word = next_word; next_word++
	fi;
	copied = true
}

active proctype all() {
	d_step { p[0].alive = true; p[0].at = IDLE; p[1].at = IDLE; p[0].node = 1; p[0].generation = 1 }
	do
	:: atomic { p[0].at != IDLE || p[0].reads < READS -> step(0) }
	:: atomic { p[1].alive && (p[1].at != IDLE || p[1].reads < READS) -> step(1) }
	:: atomic { !p[1].alive -> fork_now() }
	:: atomic { !p[1].alive -> copy_now() }
	:: p[0].at == IDLE && p[0].reads == READS && p[1].at == IDLE && p[1].alive &&
	   p[1].reads == READS -> break
	od
}
