/*
 * P6: which of N nodes gets which seed. A node low on credit is served out of its turn; which
 * nodes are low, readers decide: any at any time.
 *
 * Claim: from any state, each node but 0, which has every seed, has a new one after 2 (N - 1) reseeds; in the library
 * after N - 1.
 */
#define OTHERS (N - 1)

byte last_in_turn, last_low, step, node;
bool by_credit;
short served;			/* a bit for each */

inline serve(number) { served = served | (1 << number) }

inline serve_in_turn() {
	last_in_turn = last_in_turn % OTHERS + 1;
	serve(last_in_turn)
}

/* Any node that is low on credit, or none. */
inline serve_low() {
	select(node : 0 .. OTHERS);
	if
	:: node > 0 -> last_low = node; serve(node)
	:: else
	fi
}

active proctype harvester() {
	select(last_in_turn : 0 .. OTHERS);
	if
	:: by_credit = true
	:: by_credit = false
	fi;
	do
	:: step < STEPS ->
#ifdef KERNEL
		/* ws_distribution_deliver(): every second seed is for nodes low on credit first. */
		node = 0;
		if
		:: by_credit -> serve_low()
		:: else
		fi;
		if
		:: node == 0 -> serve_in_turn()
		:: else
		fi;
		by_credit = !by_credit;
#else
		/* Distribution::deliver(): a node in its turn, and perhaps one low on credit besides. */
		serve_in_turn();
		serve_low();
#endif
		step++
	:: else -> break
	od;
	assert(served == (1 << N) - 2)
}
