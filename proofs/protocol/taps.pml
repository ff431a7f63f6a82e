/*
 * P3: reads of threads from their taps, with all that may come between two of their steps: a signal whose handler
 * reads, leaves by siglongjmp or forks; a copy of the machine, which its watched word tells of; a reseed; the end
 * of a thread, whose slot another takes.
 *
 * A value is (key, refill, position). A key is (state of the node, how many keys it gave): states that are
 * equal give equal keys, so a copy repeats its original until it diverges. Values have no other content:
 * `token` is any one value that was returned, and stands for each.
 *
 * Claims: no value is returned twice, in any process or copy, but to a fork behind the last look at the serial
 * or a copy behind the last look at the word, which are a fork and a copy after the read. None is returned from wiped memory or
 * twice from one place. After a reseed all are of keys of it.
 *
 * The cases are bounds on all of these, given as macros: see dev/rig/src/prove/protocol.rs.
 */
#ifndef MEMORIES
#define MEMORIES 2	/* processes and machines: the first, and its forks and copies */
#endif
#ifndef THREADS
#define THREADS 1
#endif
#ifndef DEPTHS
#define DEPTHS 2	/* with a tap of their own; deeper reads take a key of the node each */
#endif
#ifndef FRAMES
#define FRAMES 2	/* a read, and handlers that interrupt it or each other */
#endif
#ifndef READS
#define READS 2		/* of each thread in each memory */
#endif
#ifndef READS_AGAIN
#define READS_AGAIN 1	/* a copy has all of them once more, and not only what its original had left */
#endif
#ifndef FORKS
#define FORKS 0
#endif
#ifndef COPIES
#define COPIES 0
#endif
#ifndef NOTICES
#define NOTICES 0	/* without a copy */
#endif
#ifndef RESEEDS
#define RESEEDS 0
#endif
#ifndef JUMPS
#define JUMPS 0
#endif
#ifndef ENDS
#define ENDS 0		/* of threads, and starts of others in their place */
#endif
#define SLOTS THREADS

#define WIPED 0
#define BUFFER 2	/* values of a refill */
#define ROUNDS 4	/* refills of a key; reached never: asserted */
#define DRAWS 8		/* keys of a state of the node; the same */

/* The thread's mark. Any other value is the generation in which its outermost tap is current. */
#define STALE 0
#define FORKED 1
#define BUSY 255

#define KEY(node, draw, depth) ((((node) * DRAWS) + (draw)) * (DEPTHS + 1) + (depth))
#define VALUE(key, round, place) (((key) * ROUNDS + (round)) * BUFFER + (place))
#define NODE_OF(value) ((value) / (BUFFER * ROUNDS * (DEPTHS + 1) * DRAWS))

mtype = { CHECK, BEGIN, SLOT, LOAD, STORE, TAKE, MARK, SERIAL, LOST, LEAVE, WORD, COMPARE,
	  CLONES, STIR, BUMP, HANDLED, GENERATION, DEPTH, FIND, FOLLOWS, FETCH, KEYS, REFILL, MAKE,
	  NODE, STAMP, RESEED, ANNOUNCE };

/* What came between the steps of a read. */
#define NOTHING 0
#define SIGNAL 1
#define FORK 2
#define COPY 3
#define SEVERAL 4

typedef Tap { byte generation, round, left, taken; short key };

typedef Slot {
	byte serial;			/* in the header: a fork wipes it with the taps */
	byte holder;			/* outside of it; 0: the slot is free */
	Tap taps[DEPTHS]
};

/* A read, or an operator's reseed: the program counter, and the registers. */
typedef Frame {
	mtype at, next;
	byte slot, serial, generation, saved, depth, left, round, sum, handled, stamp, floor;
	short key, value;
	bool is_hot, is_deep, has_depth, has_bytes, is_second, has_passed, is_late;
	byte event; bool had_depth, had_bytes, was_deep
};

typedef Thread {
	bool is_alive;
	byte mark, nested, handled, slot, serial, reads, frames;
	Frame f[FRAMES]
};

typedef Memory {
	/* secret: a fork wipes it, and the slots' headers and taps */
	byte node, draws, stamp;
	/* ordinary: a fork copies it */
	byte generation, next_generation, next_serial, next_stamp, handled, floor;
	byte word;			/* of the machine */
	byte next_node, next_word;	/* entropy: never equal */
	Slot s[SLOTS];
	Thread t[THREADS]
};

Memory m[MEMORIES];
byte current;
short token;
byte forks, copies, notices, reseeds, jumps, ends;
hidden byte k, x, y;

#define NO_VALUE 32767
#define HAS_ROOM (current + 1 < MEMORIES)

#define M m[current]
#define T m[current].t[j]
#define F m[current].t[j].f[m[current].t[j].frames - 1]
#define S m[current].s[F.slot - 1]
#define TAP S.taps[F.depth]
/* Signals are blocked at the other steps. */
#define MAY_INTERRUPT (T.frames == 0 || (F.at != STIR && F.at != BUMP && F.at != KEYS && F.at != MAKE && F.at != ANNOUNCE))

inline erase(a_tap) {
	a_tap.generation = WIPED; a_tap.key = WIPED; a_tap.round = 0; a_tap.left = 0; a_tap.taken = 0
}

inline erase_all(a_slot) {
	for (x : 0 .. DEPTHS - 1) { erase(a_slot.taps[x]) }
}

inline begin(step) {
	T.frames++;
	F.at = step;
	F.floor = M.floor
}

inline end_frame() {
	c_code {
		struct Thread *t = &now.m[now.current].t[Prunner->j];
		t->frames--;
		memset(&t->f[t->frames], 0, sizeof(t->f[0]));
	}
}

/* What is made for nothing is thrown away. */
inline again(step) {
	F.is_second = F.is_second || F.has_bytes; F.has_passed = false; F.is_late = false; F.value = WIPED;
	F.is_hot = false; F.sum = 0; F.at = step
}

inline stir() {
	M.node = M.next_node; M.next_node++; M.draws = 0
}

inline set_serial(a_slot) {
	M.next_serial++;
	a_slot.serial = M.next_serial; a_slot.holder = M.next_serial; T.serial = M.next_serial
}

/* One step of the read at work. */
inline step() {
	if
	/* ThreadStates::try_current(): the hot path. */
	:: F.at == CHECK ->
		if
		:: T.mark == M.generation -> F.saved = T.mark; F.at = BEGIN
		:: else -> F.at = CLONES
		fi
	:: F.at == BEGIN -> T.mark = BUSY; F.has_depth = true; F.is_hot = true; F.depth = 0; F.at = SLOT
	:: F.at == SLOT -> F.slot = T.slot; F.serial = T.serial; F.handled = T.handled; F.at = LOAD
	/* Tap::take(): "a read counts its bytes as handed out before it copies and erases them." */
	:: F.at == LOAD ->
		F.left = TAP.left;
		if
		:: F.left > 0 -> F.at = STORE
		:: F.left == 0 && F.is_hot -> F.next = CLONES; F.at = LEAVE
		:: else -> F.at = REFILL
		fi
	:: F.at == STORE -> TAP.left = F.left - 1; F.at = TAKE
	:: F.at == TAKE ->
		if
		:: TAP.key == WIPED || (TAP.taken & (1 << (F.left - 1))) -> F.value = WIPED
		:: else -> F.value = VALUE(TAP.key, TAP.round, F.left - 1)
		fi;
		TAP.taken = TAP.taken | (1 << (F.left - 1));
		F.left = 0; F.has_bytes = true;
		F.at = (F.is_hot -> SERIAL : MARK)
	/* ThreadRead::mark_current() */
	:: F.at == MARK ->
		if
		:: F.depth == 0 -> T.handled = F.handled; F.saved = F.generation
		:: else
		fi;
		F.generation = 0; F.at = SERIAL
	/* end(): the last look at what a fork wipes. */
	:: F.at == SERIAL ->
		if
		:: S.serial == F.serial -> F.has_passed = true; F.next = WORD; F.at = LEAVE
		:: S.serial != F.serial && F.is_hot -> F.saved = FORKED; F.next = CLONES; F.at = LEAVE
		:: else -> F.at = LOST
		fi
	/* end_after_fork(): takes the slot again, if no handler did, and erases what the read wrote. */
	:: F.at == LOST ->
		F.saved = STALE;
		if
		:: S.serial != T.serial && S.holder == T.serial -> erase_all(S); set_serial(S)
		:: else
		fi;
		erase(TAP);
		F.next = GENERATION; F.at = LEAVE
	/* The guard's drop. */
	:: F.at == LEAVE ->
		if
		:: F.depth == 0 -> T.mark = F.saved
		:: else -> T.nested = F.depth - 1
		fi;
		F.has_depth = false; F.depth = 0; F.slot = 0; F.serial = 0; F.saved = 0;
		if
		:: F.next == WORD -> F.at = WORD
		:: else -> again(F.next)
		fi;
		F.next = 0
	/* The last look at all: CloneWords::watched_sum(). Its comparison is below. */
	:: F.at == WORD -> F.sum = M.word; F.at = COMPARE
	/* EngineInner::handle_clones(), diverge() */
	:: F.at == CLONES ->
		F.sum = M.word;
		if
		:: F.sum != M.handled -> F.at = STIR
		:: else -> F.handled = F.sum; F.sum = 0; F.at = GENERATION
		fi
	:: F.at == STIR -> stir(); F.at = BUMP
	:: F.at == BUMP -> M.next_generation++; M.generation = M.next_generation; F.at = HANDLED
	:: F.at == HANDLED -> M.handled = F.sum; F.handled = F.sum; F.sum = 0; F.at = GENERATION
	/* read_from_thread() */
	:: F.at == GENERATION -> F.generation = M.generation; F.at = DEPTH
	:: F.at == DEPTH ->
		F.depth = (T.mark == BUSY -> 1 + T.nested : 0);
		if
		:: F.depth >= DEPTHS -> F.depth = 0; F.is_deep = true; F.at = NODE
		:: else ->
			if
			:: F.depth == 0 -> T.nested = 0; F.saved = T.mark; T.mark = BUSY
			:: else -> T.nested = F.depth
			fi;
			F.has_depth = true; F.at = FIND
		fi
	/* slot_of(), or acquire(): the slot that a fork took, or a free one. */
	:: F.at == FIND ->
		if
		:: T.slot != 0 && M.s[T.slot - 1].serial == T.serial -> skip
		:: T.slot != 0 && M.s[T.slot - 1].serial != T.serial && M.s[T.slot - 1].holder == T.serial ->
			erase_all(M.s[T.slot - 1]);
			set_serial(M.s[T.slot - 1]);
			F.saved = STALE
		:: else ->
			k = 0;
			do
			:: k < SLOTS && M.s[k].holder != 0 -> k++
			:: else -> break
			od;
			if
			:: k < SLOTS -> T.slot = k + 1; set_serial(M.s[k])
			:: else -> T.slot = 0
			fi;
			k = 0;
			F.saved = STALE
		fi;
		F.slot = T.slot; F.serial = T.serial;
		if
		:: F.slot != 0 -> F.at = FOLLOWS
		:: else ->
			F.is_deep = true; F.next = NODE; F.at = LEAVE
		fi
	:: F.at == FOLLOWS ->
		if
		:: F.depth == 0 && F.saved == FORKED -> erase(TAP); F.saved = STALE
		:: else
		fi;
		F.at = (TAP.generation == F.generation -> LOAD : FETCH)
	/* rekey_thread(): a key for this depth and each deeper one. Signals are blocked until they are set. */
	:: F.at == FETCH ->
		assert(M.draws < DRAWS - 1);
		F.key = KEY(M.node, M.draws, 0); M.draws++;
		F.at = KEYS
	:: F.at == KEYS ->
		for (x : 0 .. DEPTHS - 1) {
			if
			:: x >= F.depth ->
				erase(S.taps[x]);
				S.taps[x].key = F.key + x; S.taps[x].generation = F.generation
			:: else
			fi
		}
		F.key = WIPED; F.at = LOAD
	/* TapFields::refill(): the next key and the buffer, made in registers. */
	:: F.at == REFILL -> F.key = TAP.key; F.round = TAP.round; F.at = MAKE
	:: F.at == MAKE ->
		assert(F.round < ROUNDS - 1);
		TAP.key = F.key; TAP.round = F.round + 1; TAP.left = BUFFER; TAP.taken = 0;
		F.key = WIPED; F.round = 0; F.at = LOAD
	/* read_from_node() */
	:: F.at == NODE ->
		if
		:: M.stamp == WIPED -> M.next_stamp++; M.stamp = M.next_stamp
		:: else
		fi;
		assert(M.draws < DRAWS - 1);
		F.stamp = M.stamp;
		F.value = VALUE(KEY(M.node, M.draws, DEPTHS), 0, 0); M.draws++;
		F.has_bytes = true;
		F.at = STAMP
	:: F.at == STAMP ->
		if
		:: M.stamp == F.stamp -> F.stamp = 0; F.has_passed = true; F.at = WORD
		:: else -> again(NODE)
		fi
	/* An operator's reseed. */
	:: F.at == RESEED -> stir(); F.at = ANNOUNCE
	:: F.at == ANNOUNCE ->
		M.next_generation++; M.generation = M.next_generation;
		M.floor = M.node;
		end_frame()
	fi;
	x = 0
}

/* A row of the table: what came, at which step, and what became of the read. Of runs in which nothing else came. */
inline row() {
	if
	:: F.event == SIGNAL && forks + copies + notices + jumps + ends == 0 ->
		printf("row signal %d %d %d %d\n", F.was_deep, F.had_depth, F.had_bytes, F.is_second)
	:: F.event == FORK && forks == 1 && copies + notices == 0 ->
		printf("row fork %d %d %d %d\n", F.was_deep, F.had_depth, F.had_bytes, F.is_late)
	:: F.event == COPY && copies == 1 && forks + notices == 0 ->
		printf("row copy %d %d %d %d\n", F.was_deep, F.had_depth, F.had_bytes, F.is_late)
	:: else
	fi
}

inline give() {
	row();
	assert(F.value != WIPED);
	if
	:: F.is_late
	:: else ->
		assert(F.value != token);
		assert(NODE_OF(F.value) >= F.floor);
		if
		:: token == WIPED -> token = F.value
		:: true
		fi
	fi;
	end_frame()
}

/* What a frame remembers of an event, if it was its first. */
inline note(a_frame, an_event) {
	if
	:: a_frame.event == NOTHING && !a_frame.is_second && a_frame.at != RESEED && a_frame.at != ANNOUNCE ->
		a_frame.event = an_event;
		a_frame.had_depth = a_frame.has_depth;
		a_frame.had_bytes = a_frame.has_bytes;
		a_frame.was_deep = a_frame.is_deep
	:: a_frame.event == SIGNAL || (a_frame.event == NOTHING && an_event != SIGNAL) -> a_frame.event = SEVERAL
	:: else
	fi
}

/* A memory like this one, which runs until it ends. No memory sees another: so the order does not matter. */
inline copy_memory() {
	c_code { now.m[now.current + 1] = now.m[now.current]; };
	current++;
#if READS_AGAIN
	for (x : 0 .. THREADS - 1) { M.t[x].reads = 0 }
#endif
}

/* Its original goes on. A value that only this memory could know is returned by no other. */
inline end_memory() {
	c_code { memset(&now.m[now.current], 0, sizeof(now.m[0])); };
	current--;
	if
	:: token != WIPED && NODE_OF(token) >= M.next_node -> token = NO_VALUE
	:: else
	fi
}

inline fork_now() {
	forks++;
	copy_memory();
	/* The child has this thread alone. Its secret memory is wiped, and it seeds itself. */
	for (x : 0 .. THREADS - 1) {
		if
		:: x != j -> c_code { memset(&now.m[now.current].t[x], 0, sizeof(now.m[0].t[0])); }
		:: else
		fi
	}
	for (y : 0 .. SLOTS - 1) {
		M.s[y].serial = WIPED;
		erase_all(M.s[y])
	}
	M.stamp = WIPED;
	stir();
	for (x : 0 .. FRAMES - 1) {
		if
		:: x < T.frames ->
			note(T.f[x], FORK);
			if
			:: T.f[x].has_passed -> T.f[x].is_late = true
			:: else
			fi
		:: else
		fi
	}
	x = 0; y = 0
}

/* A copy of the machine, and its notice at the same moment. */
inline notice() {
	M.word = M.next_word; M.next_word++
}

inline copy_now() {
	copies++;
	copy_memory();
	for (y : 0 .. THREADS - 1) {
		for (x : 0 .. FRAMES - 1) {
			if
			:: M.t[y].is_alive && x < M.t[y].frames ->
				note(M.t[y].f[x], COPY);
				if
				:: M.t[y].f[x].at == COMPARE -> M.t[y].f[x].is_late = true
				:: else
				fi
			:: else
			fi
		}
	}
	notice();
	x = 0; y = 0
}

inline release() {
	if
	:: T.slot != 0 && M.s[T.slot - 1].holder == T.serial ->
		M.s[T.slot - 1].holder = 0; M.s[T.slot - 1].serial = WIPED;
		erase_all(M.s[T.slot - 1]); x = 0
	:: else
	fi;
	T.slot = 0; T.serial = 0; T.mark = STALE; T.nested = 0; T.handled = 0; T.is_alive = false
}

/* sweep(): a slot that a fork wiped, whose thread is not in this process. */
inline sweep() {
	for (y : 0 .. SLOTS - 1) {
		if
		:: M.s[y].holder != 0 && M.s[y].serial == WIPED ->
			k = 0;
			for (x : 0 .. THREADS - 1) {
				if
				:: M.t[x].is_alive && M.t[x].slot == y + 1 -> k = 1
				:: else
				fi
			}
			if
			:: k == 0 -> M.s[y].holder = 0
			:: else
			fi
		:: else
		fi
	}
	k = 0; x = 0; y = 0
}

active [THREADS] proctype runner() {
	byte j = _pid;

	d_step {
		if
		:: M.node == WIPED ->
			M.generation = 2; M.next_generation = 2;
			M.next_node = 1; M.next_word = 1;
			stir()
		:: else
		fi;
		T.is_alive = true
	}
end:	do
	:: d_step { T.is_alive && T.frames > 0 && F.at != COMPARE -> step() }
	:: atomic { T.is_alive && T.frames > 0 && F.at == COMPARE ->
		if
		:: F.sum == F.handled -> give()
		:: else -> again(CLONES)
		fi }
	:: d_step { T.is_alive && T.frames < FRAMES && T.reads < READS && MAY_INTERRUPT ->
		if
		:: T.frames > 0 -> note(F, SIGNAL)
		:: else
		fi;
		T.reads++; begin(CHECK) }
	:: d_step { T.is_alive && forks < FORKS && MAY_INTERRUPT && HAS_ROOM -> fork_now() }
	/* The original is told of the copy later, or now, or not. */
	:: d_step { T.is_alive && copies < COPIES && HAS_ROOM -> copy_now() }
	:: d_step { T.is_alive && notices < NOTICES -> notices++; notice() }
	:: d_step { T.is_alive && reseeds < RESEEDS && T.frames == 0 -> reseeds++; begin(RESEED) }
	:: d_step { T.is_alive && jumps < JUMPS && T.frames > 0 && MAY_INTERRUPT -> jumps++; end_frame() }
	:: d_step { T.is_alive && ends < ENDS && T.frames == 0 -> ends++; release() }
	:: d_step { !T.is_alive -> sweep(); T.is_alive = true }
	:: d_step { current > 0 -> end_memory() }
	od
}
