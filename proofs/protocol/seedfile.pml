/*
 * P8: programs that read a seed file, replace it and take its credit: SeedStore::take(). A program may be killed, and
 * the machine may lose its power, at any step. The disk has what was synchronized, and more if the system likes.
 *
 * A content is a number. Claim: none is credited twice, in whatever boots; and a content that this boot wrote is not.
 */
#define PROGRAMS 2
#define CONTENTS 6
#define KILLS 2
#define LOSSES 2
#define NO_PROGRAM PROGRAMS

mtype = { LOCK, READ, WRITE, SYNC, RENAME, SYNC_FOLDER, CREDIT };

mtype at[PROGRAMS] = LOCK;
byte found[PROGRAMS], next[PROGRAMS];
byte holder = NO_PROGRAM;		/* of the lock on the next file, which goes with its name */
byte visible = 1, durable = 1;	/* the content of the name */
byte next_content = 2;
bool is_whole[CONTENTS];	/* its bytes are on the disk */
byte boot_of[CONTENTS];
byte boot = 1, kills, losses;
bool is_credited[CONTENTS];

inline step(i) {
	if
	:: at[i] == LOCK && holder == NO_PROGRAM -> holder = i; at[i] = READ
	:: at[i] == READ -> found[i] = visible; at[i] = WRITE
	:: at[i] == WRITE && next_content < CONTENTS ->
		next[i] = next_content; next_content++;
		boot_of[next[i]] = boot;
		at[i] = SYNC
	:: at[i] == SYNC -> is_whole[next[i]] = true; at[i] = RENAME
	:: at[i] == RENAME -> visible = next[i]; holder = NO_PROGRAM; at[i] = SYNC_FOLDER
	:: at[i] == SYNC_FOLDER -> durable = visible; at[i] = CREDIT
	:: at[i] == CREDIT ->
		if
		:: is_whole[found[i]] && boot_of[found[i]] != boot ->
			assert(!is_credited[found[i]]);
			is_credited[found[i]] = true
		:: else
		fi;
		end_program(i)
	fi
}

inline end_program(i) {
	if
	:: holder == i -> holder = NO_PROGRAM
	:: else
	fi;
	at[i] = LOCK; found[i] = 0; next[i] = 0
}

inline lose_power() {
	losses++; boot++;
	visible = durable;
	end_program(0); end_program(1)
}

active [PROGRAMS] proctype program() {
end:	do
	:: atomic { step(_pid) }
	:: atomic { kills < KILLS && at[_pid] != LOCK -> kills++; end_program(_pid) }
	od
}

active proctype machine() {
	d_step { is_whole[1] = true };
end:	do
	/* The system writes when it likes. */
	:: atomic { durable != visible -> durable = visible }
	:: atomic { losses < LOSSES -> lose_power() }
	od
}
