# Gives the generators of a Ruby program new state when its machine was cloned or restored.
#
#     ruby -r/usr/local/lib/wellspring/guards/clone_guard.rb program.rb
#     RUBYOPT=-r/usr/local/lib/wellspring/guards/clone_guard.rb                 for every program
#
# A thread compares the number of the generation page (docs/generation-page.md of the project) every 10 ms. After a change
# these get new state:
#
# - `rand`, `Random.rand`, `shuffle`, `sample`: the default generator, if the program has not called `srand`;
# - every `Random.new` without a seed, with that of temporary names;
# - OpenSSL's generator, by `OpenSSL::Random.random_add`, if openssl is loaded.
#
# A generator with a seed keeps its sequence. `SecureRandom` and `Random.urandom` are the kernel's.
require 'digest'

module Wellspring
  # The guard. `check` looks now, `heal` does what a notice does, `status` says what was done.
  module CloneGuard
    PAGE = ENV.fetch('WELLSPRING_PAGE', '/run/wellspring/generation')
    PAGE_BYTES = 4096
    COUNTER = 104
    LOOK_S = 0.01
    # A page may appear or be replaced: the path is looked at once in so many looks.
    LOOKS_TO_OPEN = 100

    @lock = Mutex.new
    @unseeded = ObjectSpace::WeakMap.new
    @functions = []
    @has_default_seed = false
    @handled = 0
    @looks = 0
    @notices = 0
    @last_ms = 0.0

    class << self
      # Looks for a change now, and heals. Returns whether there was one.
      def check
        @lock.synchronize do
          open_page if (@looks % LOOKS_TO_OPEN).zero?
          @looks += 1
          return false if @file.nil? || (number = read_number) == @handled

          @handled = number
        end
        heal
        true
      end

      # Gives all that has no seed new state.
      def heal
        began = now_ms
        actions = @unseeded.keys.select { |one| @unseeded[one] }.map { |one| -> { SEED.bind_call(one, fresh) } }
        actions << -> { SRAND.call(fresh) } unless @has_default_seed
        actions << -> { OpenSSL::Random.random_add(fresh.to_s, 32.0) } if defined?(OpenSSL::Random)
        (actions + @functions).each do |action|
          action.call
        rescue StandardError => error # One generator must not keep the others as they were.
          warn error.full_message
        end
        @last_ms = now_ms - began
        @notices += 1
      end

      # Calls the block at a notice.
      def register(&block)
        @functions << block
      end

      def status
        { page: !@file.nil?, notices: @notices, last_ms: @last_ms }
      end

      def note(generator, has_seed)
        @unseeded[generator] = !has_seed if !has_seed || @unseeded.key?(generator)
      end

      def note_default(has_seed)
        @has_default_seed = has_seed
      end

      def start
        @thread = Thread.new do
          # Loads the hash, which a notice must not wait for.
          fresh
          loop do
            check
            sleep LOOK_S
          end
        end
        @thread.name = 'clone-guard'
      end

      private

      # 256 bits: the kernel's, which vmgenid has changed, and the clocks, for copies whose kernel had no notice.
      def fresh
        clocks = [Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), Time.now.to_r]
        Digest::SHA256.hexdigest(Random.urandom(32) + clocks.join(' ')).hex
      end

      def now_ms
        Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
      end

      def read_number
        @file.pread(8, COUNTER).unpack1('Q<')
      end

      # Keeps the file if this process may believe it.
      def open_page
        return if @inode && File.stat(PAGE).ino == @inode

        file = File.open(PAGE, File::RDONLY | File::NOFOLLOW | File::NONBLOCK)
        status = file.stat
        is_safe = [0, Process.euid].include?(status.uid) && (status.mode & 0o022).zero?
        return file.close unless is_safe && status.file? && status.size == PAGE_BYTES

        magic, size, version, flags = file.pread(32, 0).unpack('a4L<S<x14Q<')
        return file.close unless magic == 'VCLK' && size >= COUNTER + 8 && version == 1 && flags[8] == 1

        @file&.close
        @file, @inode = file, status.ino
        # The state of this process is older than a page that came later.
        @handled = read_number if @looks.zero?
      rescue SystemCallError
        nil
      end
    end

    # The functions as they were: the guard itself gives no seed that the program asked for.
    SEED = Random.instance_method(:initialize)
    SRAND = Kernel.method(:srand)

    # Notes which generators have a seed.
    module NotedRandom
      def initialize(*seed)
        super
        CloneGuard.note(self, !seed.empty?)
      end
    end

    # The same for the default generator: `Random.srand` and `Kernel.srand`, then `srand`.
    module NotedSrand
      def srand(*seed)
        CloneGuard.note_default(!seed.empty?)
        super
      end
    end

    # It is private in every object, as it was.
    module NotedPrivateSrand
      include NotedSrand
      private :srand
    end

    # Threads end at a fork.
    module NotedFork
      def _fork
        child = super
        CloneGuard.start if child.zero?
        child
      end
    end

    Random.prepend(NotedRandom)
    Random.singleton_class.prepend(NotedSrand)
    Kernel.singleton_class.prepend(NotedSrand)
    Kernel.prepend(NotedPrivateSrand)
    Process.singleton_class.prepend(NotedFork) if Process.respond_to?(:_fork)
    # That of temporary names has no seed, and is older than the guard where tmpdir is.
    note(Dir::Tmpname.const_get(:RANDOM), false) if defined?(Dir::Tmpname)
    check
    start
  end
end
