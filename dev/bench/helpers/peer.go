// Go's generators, on command: for each line "NAME BYTES REQUESTS" it answers with the nanoseconds that took.
// NAME is "crypto" (crypto/rand) or "word" (math/rand/v2 on the runtime's ChaCha8; BYTES is then ignored).
package main

import (
	"bufio"
	"crypto/rand"
	"fmt"
	words "math/rand/v2"
	"os"
	"time"
)

var sink uint64

func main() {
	buffer := make([]byte, 1<<20)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var name string
		var bytes, requests int
		if _, err := fmt.Sscan(lines.Text(), &name, &bytes, &requests); err != nil || bytes > len(buffer) {
			os.Exit(2)
		}
		start := time.Now()
		if name == "word" {
			for range requests {
				sink ^= words.Uint64()
			}
		} else {
			for range requests {
				rand.Read(buffer[:bytes])
			}
		}
		fmt.Println(time.Since(start).Nanoseconds())
	}
}
