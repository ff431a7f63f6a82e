# Gives the generators of a Ruby program new state when its machine was cloned or restored.
#
#     ruby -r/usr/local/lib/wellspring/guards/clone_guard.rb program.rb
#     RUBYOPT=-r/usr/local/lib/wellspring/guards/clone_guard.rb                 for every program
#
# Each draw compares the mapped number of the generation page (clones/generation-page.md of the project): no
# thread, no descriptor, no system call. After a change these get new state, before the draw:
#
# - `rand`, `Random.rand`, `shuffle`, `sample`: the default generator, if the program has not called `srand`;
# - every `Random.new` without a seed, and the generator behind temporary names;
# - OpenSSL's generator, by `OpenSSL::Random.random_add`, if openssl is loaded.
#
# A generator with a seed keeps its sequence. `SecureRandom` and `Random.urandom` are the kernel's.
unless defined?(IO::Buffer) && IO::Buffer.method_defined?(:get_value)
  warn "wellspring clone_guard.rb steps aside: it needs IO::Buffer of Ruby 3.1, and this is #{RUBY_ENGINE} #{RUBY_VERSION}"
  return
end

require 'digest'

module Wellspring
  # The guard. `check` looks now, `heal` does what a notice does, `status` says what was done.
  module CloneGuard
    PAGE = ENV.fetch('WELLSPRING_PAGE', '/run/wellspring/generation')
    PAGE_BYTES = 4096
    COUNTER = 104
    # The number for which the kernel took new keys, or its inverse if it could not: 0 where the writer does not say it.
    KERNEL = 2048
    KERNEL_WAIT_MS = 100
    # The engine's library, where it is installed.
    LIBRARY = ENV.fetch('WELLSPRING_LIBRARY', File.expand_path('../../libwellspring.so.0', __dir__))
    # The others have default generators that cannot be reached, and may not see what is below.
    MAIN = Ractor.current

    @lock = Mutex.new
    @unseeded = ObjectSpace::WeakMap.new
    @functions = []
    @has_default_seed = false
    @handled = 0
    @notices = 0
    @last_ms = 0.0

    class << self
      # Looks for a change now, also of a page that appeared or was replaced, and heals. Returns whether there was one.
      def check
        open_page
        look
      end

      # What each draw calls. Returns whether there was a change.
      def look
        return false unless Ractor.current.equal?(MAIN)
        return false if @page.nil? || @page.get_value(:u64, COUNTER) == @handled

        # Other threads that draw wait here.
        @lock.synchronize do
          number = @page.get_value(:u64, COUNTER)
          return false if number == @handled

          heal
          @handled = number
        end
        true
      rescue ThreadError
        # A draw of the healing itself, or of a signal handler, which may not wait.
        false
      end

      # Gives all that has no seed new state.
      def heal
        began = now_ms
        await_kernel
        actions = @unseeded.keys.select { |one| @unseeded[one] }.map { |one| -> { SEED.bind_call(one, fresh) } }
        actions << -> { SRAND.call(fresh) } unless @has_default_seed
        actions << -> { OpenSSL::Random.random_add(fresh.to_s, 32.0) } if defined?(OpenSSL::Random)
        (actions + @functions).each do |action|
          action.call
        rescue StandardError => error # One generator must not keep the others as they were.
          warn "wellspring clone_guard.rb: #{error.message}"
        end
        @last_ms = now_ms - began
        @notices += 1
      end

      # Calls the block at a notice.
      def register(&block)
        @functions << block
      end

      def status
        { page: !@page.nil?, notices: @notices, last_ms: @last_ms }
      end

      def note(generator, has_seed)
        return unless Ractor.current.equal?(MAIN)

        @unseeded[generator] = !has_seed if !has_seed || @unseeded.key?(generator)
      end

      def note_default(has_seed)
        @has_default_seed = has_seed if Ractor.current.equal?(MAIN)
      end

      private

      # 256 bits: the engine's, if its library is there; the kernel's, which took new keys before; and the clocks.
      def fresh
        clocks = [Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), Time.now.to_r]
        Digest::SHA256.hexdigest(engine_bytes + Random.urandom(32) + clocks.join(' ')).hex
      end

      # Waits until the page says that the kernel took new keys for its number, or could not.
      def await_kernel
        last_ms = now_ms + KERNEL_WAIT_MS
        sleep(0.001) until is_kernel_done? || now_ms > last_ms
      end

      def is_kernel_done?
        return true if @page.nil?

        number = @page.get_value(:u64, COUNTER)
        [0, number, number ^ 0xffff_ffff_ffff_ffff].include?(@page.get_value(:u64, KERNEL))
      end

      # 32 bytes, or none: the library compares the page itself, and takes in the processor's output too.
      def engine_bytes
        @fill ||= fill_function
        bytes = ("\0" * 32).b
        @fill && @fill.call(bytes, bytes.bytesize).zero? ? bytes : ''
      end

      # Fiddle is a part of Ruby that a distribution may leave out.
      def fill_function
        return unless File.file?(LIBRARY)

        require 'fiddle'
        library = Fiddle.dlopen(LIBRARY)
        Fiddle::Function.new(library['ws_fill'], [Fiddle::TYPE_VOIDP, Fiddle::TYPE_SIZE_T], Fiddle::TYPE_INT)
      rescue LoadError, StandardError
        nil
      end

      def now_ms
        Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
      end

      # Maps the page if this process may believe its file.
      def open_page
        return if @inode && File.stat(PAGE).ino == @inode

        File.open(PAGE, File::RDONLY | File::NOFOLLOW | File::NONBLOCK) do |file|
          status = file.stat
          is_safe = [0, Process.euid].include?(status.uid) && (status.mode & 0o022).zero?
          next unless is_safe && status.file? && status.size == PAGE_BYTES

          magic, size, version, flags = file.pread(32, 0).unpack('a4L<S<x14Q<')
          next unless magic == 'VCLK' && size >= COUNTER + 8 && version == 1 && flags[8] == 1

          page = map(file)
          # The state of this process is older than a page that came later.
          @handled = page.get_value(:u64, COUNTER) if @inode.nil?
          @page, @inode = page, status.ino
        end
      rescue SystemCallError
        nil
      end

      # Ruby says that the class may change.
      def map(file)
        is_told, Warning[:experimental] = Warning[:experimental], false
        IO::Buffer.map(file, PAGE_BYTES, 0, IO::Buffer::READONLY)
      ensure
        Warning[:experimental] = is_told
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

    # Has methods compare the page first.
    def self.watch(owner, names, parameters: '*', visibility: :public)
      owner.prepend(Module.new do
        names.each do |name|
          module_eval "#{visibility} def #{name}(#{parameters}) = (::Wellspring::CloneGuard.look; super)", __FILE__, __LINE__
        end
      end)
    end

    Random.prepend(NotedRandom)
    Random.singleton_class.prepend(NotedSrand)
    Kernel.singleton_class.prepend(NotedSrand)
    Kernel.prepend(NotedPrivateSrand)
    watch(Random, %i[rand bytes random_number])
    watch(Random.singleton_class, %i[rand bytes random_number])
    watch(Kernel.singleton_class, %i[rand])
    watch(Kernel, %i[rand], visibility: :private)
    watch(Array, %i[shuffle shuffle! sample], parameters: '*, **')
    # The generator behind temporary names has no seed, and is older than the guard where tmpdir is. Ruby 3.3 has none: it asks
    # the kernel for each name.
    note(Dir::Tmpname.const_get(:RANDOM), false) if defined?(Dir::Tmpname) && Dir::Tmpname.const_get(:RANDOM).is_a?(Random)
    check
  end
end
